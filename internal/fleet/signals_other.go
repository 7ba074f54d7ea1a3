//go:build !unix

package fleet

import "os"

// There are no signals that make a process hang: the system refuses to send these.
var (
	suspendSignal  = os.Interrupt
	continueSignal = os.Interrupt
)
