package bridge

import "syscall"

// attributes put the script into a process group of its own, so that a terminal's Ctrl-C does not reach it. The kernel
// kills it when the peer dies.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
