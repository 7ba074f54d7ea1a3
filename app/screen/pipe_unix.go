//go:build unix

package screen

import (
	"os/signal"
	"syscall"
)

// ignoreBrokenPipes makes a write to a pipe without a reader an error. The same signal may have ended the reader, as in
// "peer lab | tee log", and the command still has its state to write.
func ignoreBrokenPipes() { signal.Ignore(syscall.SIGPIPE) }
