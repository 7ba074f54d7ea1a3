//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A footprint counts the resources of a process.
type footprint struct {
	handles    int
	threads    int
	goroutines int   // 0: unknown
	rss        int64 // bytes
}

// measure returns the footprint of a process, or false if the process is gone.
func measure(pid int) (footprint, bool) {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	handles, err := os.ReadDir(filepath.Join(dir, "fd"))
	if err != nil {
		return footprint{}, false
	}
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return footprint{}, false
	}
	f := footprint{handles: len(handles)}
	for text := range strings.Lines(string(status)) {
		words := strings.Fields(text)
		if len(words) < 2 {
			continue
		}
		value, _ := strconv.ParseInt(words[1], 10, 64)
		switch words[0] {
		case "Threads:":
			f.threads = int(value)
		case "VmRSS:":
			f.rss = value << 10 // the kernel says kB
		}
	}
	return f, true
}

// worksIn reports whether a process is alive and works in a folder or below it.
func worksIn(pid int, dir string) bool {
	at, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "cwd"))
	return err == nil && (at == dir || strings.HasPrefix(at, dir+"/"))
}

// processesIn returns the processes that work in a folder or below it, by id,
// with their command lines.
func processesIn(dir string) map[int][]string {
	found := make(map[int][]string)
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, proc := range all {
		pid, _ := strconv.Atoi(filepath.Base(proc))
		if !worksIn(pid, dir) {
			continue
		}
		text, _ := os.ReadFile(filepath.Join(proc, "cmdline")) // the process may end meanwhile
		if len(text) == 0 {
			continue // a zombie: the process has ended, and its parent has not waited for it
		}
		found[pid] = strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
	}
	return found
}
