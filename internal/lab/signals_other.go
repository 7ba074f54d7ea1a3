//go:build !unix

package lab

import "os"

// There are no signals that make a process hang: what is sent here is refused.
var (
	suspendSignal  = os.Interrupt
	continueSignal = os.Interrupt
)
