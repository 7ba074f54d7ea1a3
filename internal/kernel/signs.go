package kernel

import "gossiptrainer/internal/kernel/asm"

// Signs writes a bit for each of x to the ⌈len(x)/8⌉ bytes of dst, the first to
// the lowest bit: 1 unless it is below limit.
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
