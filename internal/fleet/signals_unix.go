//go:build unix

package fleet

import "syscall"

// Signals that make a process hang, and go on.
const (
	suspendSignal  = syscall.SIGSTOP
	continueSignal = syscall.SIGCONT
)
