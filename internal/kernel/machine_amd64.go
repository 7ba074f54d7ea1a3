//go:build !purego

package kernel

import "golang.org/x/sys/cpu"

// machine returns the highest tier that processor and operating system support.
func machine() Tier {
	x := &cpu.X86
	switch {
	case !x.HasAVX2 || !x.HasFMA || !x.HasBMI2:
		return Off
	case !x.HasAVX512F || !x.HasAVX512BW || !x.HasAVX512DQ || !x.HasAVX512VL:
		return AVX2
	}
	return AVX512
}
