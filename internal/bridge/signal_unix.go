//go:build unix

package bridge

import (
	"errors"
	"os"
	"syscall"
)

// interrupt sends the interrupt of a terminal to a group.
func interrupt(p *os.Process) error { return ignoreGone(syscall.Kill(-p.Pid, syscall.SIGINT)) }

// kill ends all processes of a group.
func kill(p *os.Process) error { return ignoreGone(syscall.Kill(-p.Pid, syscall.SIGKILL)) }

// sweep ends the other processes of a group.
func sweep(p *os.Process) { _ = kill(p) }

func ignoreGone(err error) error {
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}

// endedBy returns the name of the signal that ended a process; "": none did.
func endedBy(state *os.ProcessState) string {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return status.Signal().String()
	}
	return ""
}
