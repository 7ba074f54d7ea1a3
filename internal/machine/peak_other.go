//go:build !unix

package machine

import "time"

// ProcessorTime returns 0: the processor time of this process is not known.
func ProcessorTime() time.Duration { return 0 }

// PeakMemory returns 0: the most memory that this process has held is not known.
func PeakMemory() int64 { return 0 }
