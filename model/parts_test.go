package model

import (
	"slices"
	"testing"

	"gossiptrainer/internal/kernel"
	"gossiptrainer/internal/rng"
	"gossiptrainer/model/sample"
)

// gather returns the gradient of parts, and checks that they fill it and that the longest has the length that Measure
// tells.
func gather(t *testing.T, m Parted, x []float32, batch sample.Batch) (loss float32, g []float32, longest int) {
	t.Helper()
	g = make([]float32, len(x))
	filled := 0
	loss = m.GradientParts(x, batch, func(first int, part []float32) {
		copy(g[first:], part)
		filled, longest = filled+len(part), max(longest, len(part))
		fill(part, 1e9) // take may change a part
	})
	if filled != len(g) {
		t.Errorf("parts have %d coordinates, want %d", filled, len(g))
	}
	return loss, g, longest
}

func TestPartsAreTheGradient(t *testing.T) {
	eachTier(t, func(t *testing.T, tier kernel.Tier) {
		for name, spec := range small {
			m, err := newOn(spec, tier)
			if err != nil {
				t.Fatal(err)
			}
			other, err := newOn(spec, tier)
			if err != nil {
				t.Fatal(err)
			}
			x, want := make([]float32, m.Dim()), make([]float32, m.Dim())
			m.Init(x, 1)
			batch := randomBatch(spec, spec.Batch, 1)
			lost := m.Gradient(want, x, batch)
			loss, g, longest := gather(t, other.(Parted), x, batch)
			if loss != lost || !slices.Equal(g, want) {
				t.Errorf("%s: loss %v, want %v; gradients are equal: %v", name, loss, lost, slices.Equal(g, want))
			}
			if size, err := Measure(spec); err != nil || size.Part != longest {
				t.Errorf("%s: the longest part has %d coordinates, measured are %d: %v", name, longest, size.Part, err)
			}
		}
	})
}

// The gradient of a large dense layer comes in parts of some rows, and has the bits that it has at once.
func TestRowsDoNotChangeADenseLayer(t *testing.T) {
	const inputs, outputs, batch = 2001, 1100, 5
	eachTier(t, func(t *testing.T, tier kernel.Tier) {
		b := &builder{tier: tier, batch: batch}
		at := b.inputs(sample.Shape{H: 1, W: 1, C: 7}, 0)
		at = b.dense("first", at, inputs, narrow(7))
		m := b.net(b.dense("second", at, outputs, narrow(inputs)))
		layer := b.layers[1].(*dense)
		x := make([]float32, m.Dim())
		m.Init(x, 1)
		data := sample.Batch{X: make([]float32, 7*batch), Y: []int32{0, 1, 2, 3, 1099}}
		key := rng.At(3, 0)
		for i := range data.X {
			data.X[i] = float32(key.Uniform(uint32(i)))
		}
		_, cut, longest := gather(t, m, x, data)
		if most := partFloats + partRows*outputs; longest > 2*most || longest >= inputs*outputs {
			t.Errorf("a part of %d coordinates, want at most %d", longest, 2*most)
		}
		r := &layer.weights
		r.each, r.last = inputs, newOuterOnce(inputs, outputs)
		whole := make([]float32, m.Dim())
		m.Gradient(whole, x, data)
		if !slices.Equal(cut, whole) {
			t.Error("the gradient in parts differs from the one at once")
		}
	})
}
