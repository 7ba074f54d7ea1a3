package model

import (
	"math"
	"testing"

	"gossiptrainer/data"
	"gossiptrainer/internal/rng"
)

// random fills x with uniform numbers of [−1, 1), a function of round alone.
func random(x []float32, round int) []float32 {
	key := rng.At(99, round)
	for i := range x {
		x[i] = 2*key.Uniform(uint32(i)) - 1
	}
	return x
}

// randomBatch makes n samples whose label shows in the mean of their features.
func randomBatch(s Spec, n, round int) data.Batch {
	b := data.Batch{X: random(make([]float32, n*s.Shape.Features()), round), Y: make([]int32, n)}
	key := rng.At(98, round)
	for i := range b.Y {
		b.Y[i] = int32(key.Raw(uint32(i)) % uint32(s.Classes))
		x := b.X[i*s.Shape.Features() : (i+1)*s.Shape.Features()]
		for j := range x {
			if j%s.Classes == int(b.Y[i]) {
				x[j]++
			}
		}
	}
	return b
}

// newModel builds a model or fails the test.
func newModel(t testing.TB, s Spec) Model {
	t.Helper()
	m, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// small holds one specification of each network, small enough for finite
// differences.
var small = map[string]Spec{
	"logistic":           {Name: "logistic", Shape: data.Shape{H: 3, W: 2, C: 2}, Classes: 2, Batch: 5},
	"mlp":                {Name: "mlp", Shape: data.Shape{H: 1, W: 1, C: 7}, Classes: 3, Batch: 5, Hidden: []int{9, 6}},
	"lenet":              {Name: "lenet", Shape: data.Shape{H: 12, W: 16, C: 1}, Classes: 10, Batch: 4},
	"resnet, group norm": {Name: "resnet", Shape: data.Shape{H: 8, W: 10, C: 3}, Classes: 4, Batch: 4, Depth: 8, Norm: "group"},
	"resnet, batch norm": {Name: "resnet", Shape: data.Shape{H: 9, W: 9, C: 1}, Classes: 4, Batch: 4, Depth: 8, Norm: "batch"},
}

// networkLoss returns the mean loss in training mode without rounding it to
// float32.
func networkLoss(m *net, x []float32, batch data.Batch) float64 {
	m.forward(x, batch, training)
	loss, _ := crossEntropy(m.logits.value.images(batch.Len()), batch.Y)
	return loss / float64(batch.Len())
}

// Each parameter tensor is moved along its own gradient v: the loss must
// change by 2h|v|² over x ± h·v. A step of that size crosses the kinks of a few
// ReLUs and pools, and float32 rounds the loss to about 1e-7 of itself: with
// h chosen so that the loss changes by 1e-3, both stay below two per cent.
func TestGradientsOfNetworks(t *testing.T) {
	for name, spec := range small {
		t.Run(name, func(t *testing.T) {
			m := newModel(t, spec).(*net)
			x, g := make([]float32, m.Dim()), make([]float32, m.Dim())
			m.Init(x, 5)
			for i, v := range random(make([]float32, len(x)), 1) {
				x[i] += 0.1 * v // biases and gammas away from their special values
			}
			batch := randomBatch(spec, spec.Batch, 2)
			m.Gradient(g, x, batch)
			for _, p := range m.Layout() {
				v := append([]float32(nil), p.of(g)...)
				norm2 := 0.0
				for _, c := range v {
					norm2 += float64(c) * float64(c)
				}
				if norm2 == 0 {
					t.Errorf("%s: zero gradient", p.Name)
					continue
				}
				h := 1e-3 / norm2
				move := func(h float64) float64 {
					y := append([]float32(nil), x...)
					for i := range v {
						p.of(y)[i] += float32(h * float64(v[i]))
					}
					return networkLoss(m, y, batch)
				}
				if got := (move(h) - move(-h)) / 2e-3; math.Abs(got-1) > 0.02 {
					t.Errorf("%s: the loss changes by %.4f of what the gradient says", p.Name, got)
				}
			}
		})
	}
}
