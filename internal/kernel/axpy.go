package kernel

import "gossiptrainer/internal/kernel/asm"

// Axpy computes dst ← dst + a·x, with a·x rounded before it is added. x is at
// least as long as dst.
func (t Tier) Axpy(dst []float32, a float32, x []float32) {
	x = x[:len(dst)]
	n := 0
	switch t {
	case AVX512:
		n = len(dst) &^ 31
		asm.AxpyAVX512(dst[:n], a, x)
	case AVX2:
		n = len(dst) &^ 15
		asm.AxpyAVX2(dst[:n], a, x)
	}
	dst, x = dst[n:], x[n:]
	for i, v := range x {
		dst[i] += float32(a * v)
	}
}
