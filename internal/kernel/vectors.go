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

// Momentum computes m ← g + mu·m, with mu·m rounded before it is added, and
// copies m to g. m is at least as long as g.
func (t Tier) Momentum(g, m []float32, mu float32) {
	m = m[:len(g)]
	n := 0
	if len(g) >= 16 {
		switch t {
		case AVX512:
			n = len(g) &^ 15
			asm.MomentumAVX512(g[:n], m, mu)
		case AVX2:
			n = len(g) &^ 7
			asm.MomentumAVX2(g[:n], m, mu)
		}
	}
	for i := n; i < len(g); i++ {
		v := g[i] + float32(mu*m[i])
		m[i], g[i] = v, v
	}
}
