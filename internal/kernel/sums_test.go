package kernel

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestSumsAreWithinTheirBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := drawEdges(t, 1)
		squares, magnitudes := 0.0, 0.0
		for _, v := range x {
			squares += float64(v) * float64(v)
			magnitudes += math.Abs(float64(v))
		}
		bound := float64(len(x)) * 0x1p-52
		limit := rapid.OneOf(rapid.SampledFrom(x), rapid.Float32Range(-1, 1)).Draw(t, "limit")
		above, number := Off.AtLeast(x, limit)
		for _, tier := range Available() {
			if got := tier.Squares(x); math.Abs(got-squares) > bound*squares {
				t.Fatalf("%v: squares %v, want %v", tier, got, squares)
			}
			if got := tier.Magnitudes(x); math.Abs(got-magnitudes) > bound*magnitudes {
				t.Fatalf("%v: magnitudes %v, want %v", tier, got, magnitudes)
			}
			if sum, n := tier.AtLeast(x, limit); n != number || math.Abs(sum-above) > bound*magnitudes {
				t.Fatalf("%v: %d of at least %v, together %v, want %d, %v", tier, n, limit, sum, number, above)
			}
		}
	})
}
