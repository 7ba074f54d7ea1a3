//go:build unix && !linux

package fleet

import "syscall"

// attributes put a peer into a process group of its own, so that a terminal's Ctrl-C reaches only the
// supervisor. A peer whose supervisor dies sees the end of its input.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
