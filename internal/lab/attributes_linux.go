package lab

import "syscall"

// attributes put a peer into a process group of its own, so that a terminal's
// Ctrl-C reaches the supervisor alone, and let the kernel kill it when the
// supervisor dies, whatever it died of.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
