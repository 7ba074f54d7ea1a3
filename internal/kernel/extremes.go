package kernel

import (
	"math"

	"gossiptrainer/internal/kernel/asm"
)

// Extremes returns the smallest and the largest of x, which has at least one number and no NaN. −0 is
// smaller than 0.
func (t Tier) Extremes(x []float32) (low, high float32) {
	var least, most [16]int32
	for i := range least {
		least[i], most[i] = key(x[0]), key(x[0])
	}
	n := len(x) &^ 31
	switch t {
	case AVX512:
		asm.ExtremesAVX512(x[:n], &least, &most)
	case AVX2:
		asm.ExtremesAVX2(x[:n], &least, &most)
	default:
		n = 0
	}
	a, b := least[0], most[0]
	for i := range least {
		a, b = min(a, least[i]), max(b, most[i])
	}
	for _, v := range x[n:] {
		k := key(v)
		a, b = min(a, k), max(b, k)
	}
	return unkey(a), unkey(b)
}

// key maps v to an integer, and keeps the order.
func key(v float32) int32 {
	bits := math.Float32bits(v)
	return int32(bits ^ uint32(int32(bits)>>31)>>1)
}

// unkey is its inverse.
func unkey(k int32) float32 {
	return math.Float32frombits(uint32(k) ^ uint32(k>>31)>>1)
}
