//go:build unix

package machine

import (
	"runtime"
	"syscall"
	"time"
)

// ProcessorTime returns the time that all threads of this process have spent on processors, in programs
// and in the kernel; 0 where it is not known.
func ProcessorTime() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// PeakMemory returns the most memory that this process has held, in bytes, 0
// where it is not known.
func PeakMemory() int64 {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(usage.Maxrss) // in bytes, elsewhere in KiB
	}
	return int64(usage.Maxrss) << 10
}
