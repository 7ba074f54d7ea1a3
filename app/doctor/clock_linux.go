package doctor

import "golang.org/x/sys/unix"

// unsynchronised is the bit STA_UNSYNC of the kernel's clock, adjtimex(2).
const unsynchronised = 0x40

// keptClock asks the kernel whether a time service keeps the clock.
func keptClock() keeping {
	var t unix.Timex
	if _, err := unix.Adjtimex(&t); err != nil {
		return keptUnknown
	}
	if t.Status&unsynchronised != 0 {
		return unkept
	}
	return kept
}
