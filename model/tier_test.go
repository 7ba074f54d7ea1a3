package model

import (
	"math"
	"slices"
	"testing"

	"gossiptrainer/internal/kernel"
)

// The tiers with assembly compute the same bits, so machines with AVX2 and with AVX-512 can
// share a run. Plain Go rounds products and differs by that.
func TestGradientsOfTiers(t *testing.T) {
	for name, spec := range small {
		t.Run(name, func(t *testing.T) {
			gradient := func(tier kernel.Tier) (float32, []float32) {
				m, err := newOn(spec, tier)
				if err != nil {
					t.Fatal(err)
				}
				x, g := make([]float32, m.Dim()), make([]float32, m.Dim())
				m.Init(x, 1)
				return m.Gradient(g, x, randomBatch(spec, spec.Batch, 1)), g
			}
			loss, want := gradient(kernel.Off)
			largest := 0.0
			for _, v := range want {
				largest = max(largest, math.Abs(float64(v)))
			}
			var first []float32
			for _, tier := range kernel.Available()[1:] {
				l, g := gradient(tier)
				if math.Abs(float64(l-loss)) > 1e-4 {
					t.Errorf("%v: loss %v, without assembly %v", tier, l, loss)
				}
				for i, v := range g {
					if math.Abs(float64(v-want[i])) > 1e-3*largest {
						t.Fatalf("%v: derivative %d is %v, without assembly %v", tier, i, v, want[i])
					}
				}
				if first != nil && !slices.Equal(g, first) {
					t.Errorf("%v has not the bits of the tier below", tier)
				}
				first = g
			}
		})
	}
}
