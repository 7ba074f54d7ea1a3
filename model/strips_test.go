package model

import (
	"slices"
	"testing"

	"gossiptrainer/internal/kernel"
	"gossiptrainer/internal/rng"
	"gossiptrainer/model/sample"
)

// A large layer computes the same bits strip by strip as with all weights packed at once.
func TestStripsDoNotChangeADenseLayer(t *testing.T) {
	const inputs, outputs, batch = 1001, 1100, 5
	build := func() (*net, *dense) {
		b := &builder{tier: kernel.Best(), batch: batch}
		at := b.inputs(sample.Shape{H: 1, W: 1, C: 7}, 0)
		at = b.dense("first", at, inputs, narrow(7))
		logits := b.dense("second", at, outputs, narrow(inputs))
		return b.net(logits), b.layers[1].(*dense)
	}
	cut, layer := build()
	whole, other := build()
	for _, s := range []*strips{&other.forwards, &other.back} {
		panels := kernel.Panel(make([][kernel.Lanes]float32, s.inputs*kernel.Panels(s.filter.Channels)))
		s.wide, s.memory = s.filter.Channels, &panels
	}
	if layer.forwards.wide >= outputs || layer.back.wide >= inputs || layer.forwards.memory != layer.back.memory {
		t.Fatalf("strips of %d and %d columns: the layer is not cut", layer.forwards.wide, layer.back.wide)
	}
	x := make([]float32, cut.Dim())
	cut.Init(x, 1)
	data := sample.Batch{X: make([]float32, 7*batch), Y: []int32{0, 1, 2, 3, 1099}}
	key := rng.At(3, 0)
	for i := range data.X {
		data.X[i] = float32(key.Uniform(uint32(i)))
	}
	g, h := make([]float32, len(x)), make([]float32, len(x))
	if a, b := cut.Gradient(g, x, data), whole.Gradient(h, x, data); a != b || !slices.Equal(g, h) {
		t.Errorf("loss %v, want %v; gradients are equal: %v", a, b, slices.Equal(g, h))
	}
	if a, b := cut.Evaluate(x, data), whole.Evaluate(x, data); a != b {
		t.Errorf("score %v, want %v", a, b)
	}
}

// The gradient and the packed weights of a large MLP take no further copy of its weights.
func TestALargeLayerHasNoSecondCopyOfItsWeights(t *testing.T) {
	s := Spec{Name: "mlp", Shape: sample.Shape{H: 8, W: 8, C: 1}, Classes: 10, Batch: 1, Hidden: []int{2048, 4802}}
	size, err := Measure(s)
	if err != nil {
		t.Fatal(err)
	}
	if most := size.Dim / 8; size.Packed > most {
		t.Errorf("%d floats of packed weights for %d parameters, want at most %d", size.Packed, size.Dim, most)
	}
}
