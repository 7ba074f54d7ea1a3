//go:build !unix

package signals

// ignoreBrokenPipes does nothing: the system has no such signal.
func ignoreBrokenPipes() {}
