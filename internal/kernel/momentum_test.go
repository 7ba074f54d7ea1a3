package kernel

import (
	"slices"
	"testing"
)

func TestMomentumIsItsDefinition(t *testing.T) {
	for _, n := range []int{0, 1, 15, 16, 47, 100} {
		for _, tier := range Available() {
			g, m := numbers(n+1, 1), numbers(n+1, 2)
			want := slices.Clone(m)
			for i := range n {
				want[i] = g[i] + float32(float32(0.9)*m[i])
			}
			last := g[n]
			tier.Momentum(g[:n], m, 0.9)
			if !slices.Equal(m, want) || !slices.Equal(g[:n], want[:n]) || g[n] != last {
				t.Errorf("%v: %v and %v, want %v", tier, g, m, want)
			}
		}
	}
}
