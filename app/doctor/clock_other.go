//go:build !linux

package doctor

// keptClock tells nothing on this system.
func keptClock() keeping { return keptUnknown }
