package machine

import (
	"bufio"
	"os"
	"strconv"
	"strings"
)

// FreeMemory returns how many bytes this process and its children can still get, or 0 if that is unknown. The limit is
// that of the machine or of this process's control group.
func FreeMemory() int64 {
	free := kernelField("/proc/meminfo", "MemAvailable:") << 10
	limit, used := wholeNumber("/sys/fs/cgroup/memory.max"), wholeNumber("/sys/fs/cgroup/memory.current")
	if limit > 0 {
		// Cached pages of files count as used, but the kernel can free them.
		used -= kernelField("/sys/fs/cgroup/memory.stat", "inactive_file") +
			kernelField("/sys/fs/cgroup/memory.stat", "active_file")
		if left := max(limit-used, 1); free == 0 || left < free {
			free = left
		}
	}
	return free
}

// kernelField returns the number behind a name in a file of the kernel, 0 without one.
func kernelField(path, name string) int64 {
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if words := strings.Fields(lines.Text()); len(words) > 1 && words[0] == name {
			n, _ := strconv.ParseInt(words[1], 10, 64)
			return n
		}
	}
	return 0
}

// wholeNumber returns the number that a file of the kernel holds, 0 for a word.
func wholeNumber(path string) int64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	n, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n
}
