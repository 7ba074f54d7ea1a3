//go:build !linux

package machine

// FreeMemory returns 0: on this system the free memory is unknown.
func FreeMemory() int64 { return 0 }
