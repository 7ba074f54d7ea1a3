package kernel

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// All tiers give the same bits of gradient and value, which are those of the formula.
func TestQuadraticIsTheFormula(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 70).Draw(t, "d")
		draw := func(name string) []float32 {
			return rapid.SliceOfN(rapid.Float32Range(-4, 4), n, n).Draw(t, name)
		}
		a, x, o := draw("a"), draw("x"), draw("o")
		want := make([]float32, n)
		var sums [4]float64
		for c := range want {
			want[c] = a[c] * (x[c] - o[c])
			d := float64(x[c]) - float64(o[c])
			sums[c%4] += float64(float64(a[c]) * d * d)
		}
		value := (sums[0] + sums[1]) + (sums[2] + sums[3])
		for _, tier := range Available() {
			g := make([]float32, n)
			got := Quadratic(tier, g, a, x, o)
			same := slices.EqualFunc(g, want, func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) })
			if got != value || !same {
				t.Fatalf("tier %v: value %v and gradient %v, want %v and %v", tier, got, g, value, want)
			}
		}
	})
}
