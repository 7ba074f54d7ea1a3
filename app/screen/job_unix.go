//go:build unix

package screen

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Watch suspends the job on Ctrl-Z until ctx ends, if its shell controls jobs.
func (j *Job) Watch(ctx context.Context) {
	if signal.Ignored(syscall.SIGTSTP) || !controlled() {
		return
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTSTP)
	go func() {
		defer signal.Stop(asked)
		for {
			select {
			case <-asked:
				j.rest(stand)
			case <-ctx.Done():
				return
			}
		}
	}()
}

// stand stops this process until its shell continues it.
func stand() {
	const soon = time.Second // by which a process that has not stopped goes on
	back := make(chan os.Signal, 1)
	signal.Notify(back, syscall.SIGCONT)
	defer signal.Stop(back)
	if syscall.Kill(os.Getpid(), syscall.SIGSTOP) != nil { // Go does not give back the default action of SIGTSTP
		return
	}
	select {
	case <-back:
	case <-time.After(soon):
	}
}

// controlled reports whether a process of the same session and another group, a shell, can continue this one. The
// kernel, too, does not stop other processes on Ctrl-Z.
func controlled() bool {
	session, _ := unix.Getsid(0)
	for pid := os.Getppid(); pid > 0; pid = parentOf(pid) {
		if its, err := unix.Getsid(pid); err != nil || its != session {
			return false
		}
		if group, err := unix.Getpgid(pid); err == nil && group != unix.Getpgrp() {
			return true
		}
	}
	return false
}

// parentOf returns the parent of a process, 0 where it is not known.
func parentOf(pid int) (parent int) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(text)) {
		if n, _ := fmt.Sscanf(line, "PPid: %d", &parent); n == 1 {
			return parent
		}
	}
	return 0
}
