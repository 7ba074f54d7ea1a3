package kernel

import "gossiptrainer/internal/kernel/asm"

// Signs writes a bit for each of x to the ⌈len(x)/8⌉ bytes of dst, the first to the lowest bit. The
// bit is 1 unless x_i is below limit.
func (t Tier) Signs(dst []byte, x []float32, limit float32) {
	n := len(x) &^ 63
	switch t {
	case AVX512:
		asm.SignsAVX512(dst, x[:n], limit)
	case AVX2:
		asm.SignsAVX2(dst, x[:n], limit)
	default:
		n = 0
	}
	dst = dst[n/8:]
	clear(dst[:(len(x)-n+7)/8])
	for i, v := range x[n:] {
		if !(v < limit) {
			dst[i/8] |= 1 << (i % 8)
		}
	}
}

// AddPoints adds the point of each symbol to acc. Symbols have width bits, 1 to
// 8, in the upper bits of bytes; there are as many as in acc.
func (t Tier) AddPoints(acc []float32, symbols []byte, width int, points *[256]float32) {
	n, shift := len(acc)&^15, uint64(8-width)
	a, s := acc[:n], symbols[:n]
	switch {
	case t == AVX512 && width <= 4:
		asm.AddFewAVX512(a, s, shift, points)
	case t == AVX512:
		asm.AddManyAVX512(a, s, shift, points)
	case t == AVX2 && width <= 4:
		asm.AddFewAVX2(a, s, shift, points)
	default: // AVX2 has too few registers for a table
		n = 0
	}
	acc = acc[n:]
	for i, s := range symbols[n : n+len(acc)] {
		acc[i] += points[s>>shift]
	}
}
