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
		for _, tier := range Available() {
			if got := tier.Squares(x); math.Abs(got-squares) > bound*squares {
				t.Fatalf("%v: squares %v, want %v", tier, got, squares)
			}
			if got := tier.Magnitudes(x); math.Abs(got-magnitudes) > bound*magnitudes {
				t.Fatalf("%v: magnitudes %v, want %v", tier, got, magnitudes)
			}
		}
	})
}
