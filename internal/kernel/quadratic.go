package kernel

import "gossiptrainer/internal/kernel/asm"

// Quadratic computes g ← a·(x − o) in float32 and returns Σ a·(x − o)² in float64. It sums each fourth coordinate by
// itself: the value is ((s_0 + s_1) + (s_2 + s_3)). All vectors have the length of g.
func Quadratic(t Tier, g, a, x, o []float32) float64 {
	var sums [4]float64
	n := 0
	if t != Off {
		n = len(g) &^ 3
		asm.QuadraticAVX2(g[:n], a, x, o, &sums)
	}
	a, x, o = a[:len(g)], x[:len(g)], o[:len(g)]
	for c := n; c < len(g); c++ {
		g[c] = a[c] * (x[c] - o[c])
		d := float64(x[c]) - float64(o[c])
		sums[c%4] += float64(float64(a[c]) * d * d)
	}
	return (sums[0] + sums[1]) + (sums[2] + sums[3])
}
