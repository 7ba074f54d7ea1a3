package kernel

import (
	"math"

	"gossiptrainer/internal/kernel/asm"
)

// Extent returns the least and the largest of k, which is not empty.
func (t Tier) Extent(k []int32) (low, high int32) {
	low, high = math.MaxInt32, math.MinInt32
	n := 0
	switch {
	case t == AVX512 && len(k) >= 32:
		n = len(k) &^ 31
		low, high = asm.ExtentAVX512(k[:n])
	case t == AVX2 && len(k) >= 16:
		n = len(k) &^ 15
		low, high = asm.ExtentAVX2(k[:n])
	}
	for _, v := range k[n:] {
		low, high = min(low, v), max(high, v)
	}
	return low, high
}

// Narrow writes byte((k >> shift) − base) & mask to dst, as long as k.
func (t Tier) Narrow(dst []byte, k []int32, shift int, base int32, mask byte) {
	dst = dst[:len(k)]
	n := 0
	switch t {
	case AVX512:
		n = len(k) &^ 63
		asm.NarrowAVX512(dst[:n], k, uint64(shift), uint32(base), uint32(mask))
	case AVX2:
		n = len(k) &^ 31
		asm.NarrowAVX2(dst[:n], k, uint64(shift), uint32(base), uint32(mask))
	}
	for i := n; i < len(k); i++ {
		dst[i] = byte(k[i]>>shift-base) & mask
	}
}

// Recover decodes theirs, a neighbour's symbols, to indices in dst, relative to the own indices k.
// Symbols and ties are as in Mix, but own always has Low. tied reports whether a tie occurred.
func (t Tier) Recover(dst, k []int32, own Own, theirs []byte) (tied bool) {
	n := len(dst) &^ 31
	switch t {
	case AVX512:
		tied = asm.RecoverAVX512(dst[:n], k, own.Symbols, own.Low, theirs, uint64(8-own.Width)) != 0
	case AVX2:
		tied = asm.RecoverAVX2(dst[:n], k, own.Symbols, own.Low, theirs, uint64(8-own.Width)) != 0
	default:
		n = 0
	}
	for i := n; i < len(dst); i++ {
		difference := int32(int8(theirs[i] - own.Symbols[i]))
		if difference == math.MinInt8 {
			tied = true
			if own.Low[i] != own.Symbols[i]-128 {
				difference = 128
			}
		}
		dst[i] = k[i] + difference>>(8-own.Width)
	}
	return tied
}
