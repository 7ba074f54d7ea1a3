package kernel

import "gossiptrainer/internal/kernel/asm"

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
