// Package machine describes the computer of this process: memory, room on disks, processors. A figure that the system
// does not tell is 0, "" or not known. It also shares jobs among free cores.
package machine

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"gossiptrainer/internal/human"
)

// Describe returns the system, the number of cores and the name of the processor, for people.
func Describe() string {
	text := fmt.Sprintf("%s/%s, %s", runtime.GOOS, runtime.GOARCH, human.Count(runtime.NumCPU(), "core"))
	if name := processor(); name != "" {
		text += ", " + name
	}
	return text
}

// processor returns the name of the processor, "" where nothing tells it.
func processor() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		key, name, _ := strings.Cut(lines.Text(), ":")
		if strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(name)
		}
	}
	return ""
}

// ShareProcessors gives a peer its share of the cores: at least one for the gradient, and one more so that frames move
// during its computation. It does not override settings of the user.
func ShareProcessors(env []string, peers int) []string {
	if os.Getenv("GOMAXPROCS") != "" {
		return env
	}
	share := max(1, runtime.NumCPU()/peers) + 1
	return append(env, "GOMAXPROCS="+strconv.Itoa(min(share, runtime.NumCPU())))
}

// ShareThreads gives the script of each peer its share of the cores: numeric libraries take all of them otherwise, and
// threads of several scripts hold each other up. It does not override settings of the user.
func ShareThreads(env []string, peers int) []string {
	if os.Getenv("OMP_NUM_THREADS") != "" {
		return env
	}
	return append(env, "OMP_NUM_THREADS="+strconv.Itoa(max(1, runtime.NumCPU()/peers)))
}

// LimitGarbage makes the collector run when garbage has grown to a percentage of the live heap, unless the user has
// set GOGC. GOMEMLIMIT holds in any case.
func LimitGarbage(percent int) {
	if os.Getenv("GOGC") == "" && percent > 0 {
		debug.SetGCPercent(percent)
	}
}
