//go:build !unix

package main

// peakMemory returns 0: the most memory that this process has held is not known.
func peakMemory() int64 { return 0 }
