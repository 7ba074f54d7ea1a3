//go:build !unix

package machine

// PeakMemory returns 0: the most memory that this process has held is not known.
func PeakMemory() int64 { return 0 }
