package kernel

import "gossiptrainer/internal/kernel/asm"

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
