package fleet

import "syscall"

// attributes put a peer into a process group of its own, so that a terminal's Ctrl-C reaches only the
// supervisor. The kernel kills the peer when the supervisor dies.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
