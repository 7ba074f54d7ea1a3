//go:build !unix

package screen

// ignoreBrokenPipes does nothing: the system has no such signal.
func ignoreBrokenPipes() {}
