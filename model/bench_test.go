package model

import (
	"math"
	"testing"
	"time"

	"gossiptrainer/model/sample"
)

// full holds the models in the sizes that runs use.
var full = []struct {
	name string
	spec Spec
}{
	{"logistic 28x28x1", Spec{Name: "logistic", Shape: sample.Shape{H: 28, W: 28, C: 1}, Classes: 10, Batch: 32}},
	{"mlp 784-128-10", Spec{Name: "mlp", Shape: sample.Shape{H: 28, W: 28, C: 1}, Classes: 10, Batch: 32,
		Hidden: []int{128}}},
	{"lenet 28x28x1", Spec{Name: "lenet", Shape: sample.Shape{H: 28, W: 28, C: 1}, Classes: 10, Batch: 32}},
	{"resnet20 group 32x32x3", Spec{Name: "resnet", Shape: sample.Shape{H: 32, W: 32, C: 3}, Classes: 10, Batch: 32,
		Depth: 20, Norm: "group"}},
	{"resnet20 batch 32x32x3", Spec{Name: "resnet", Shape: sample.Shape{H: 32, W: 32, C: 3}, Classes: 10, Batch: 32,
		Depth: 20, Norm: "batch"}},
	{"resnet110 batch 32x32x3", Spec{Name: "resnet", Shape: sample.Shape{H: 32, W: 32, C: 3}, Classes: 10, Batch: 32,
		Depth: 110, Norm: "batch"}},
	{"vgg11 32x32x3", Spec{Name: "vgg11", Shape: sample.Shape{H: 32, W: 32, C: 3}, Classes: 10, Batch: 32}},
	{"vgg16 batch 32x32x3", Spec{Name: "vgg16", Shape: sample.Shape{H: 32, W: 32, C: 3}, Classes: 10, Batch: 32,
		Norm: "batch"}},
}

// rate reports samples per second of the fastest call.
func rate(b *testing.B, samples int, work func()) {
	best := math.Inf(1)
	for b.Loop() {
		start := time.Now()
		work()
		best = min(best, time.Since(start).Seconds())
	}
	b.ReportMetric(float64(samples)/best, "samples/s")
}

// BenchmarkGradient reports samples per second at batch 32 on one core.
func BenchmarkGradient(b *testing.B) {
	for _, f := range full {
		b.Run(f.name, func(b *testing.B) {
			m := newModel(b, f.spec)
			x, g := make([]float32, m.Dim()), make([]float32, m.Dim())
			m.Init(x, 1)
			batch := randomBatch(f.spec, f.spec.Batch, 1)
			rate(b, batch.Len(), func() { m.Gradient(g, x, batch) })
		})
	}
}

// BenchmarkEvaluate reports samples per second without gradients.
func BenchmarkEvaluate(b *testing.B) {
	for _, f := range full {
		b.Run(f.name, func(b *testing.B) {
			m := newModel(b, f.spec)
			x := make([]float32, m.Dim())
			m.Init(x, 1)
			batch := randomBatch(f.spec, f.spec.Batch, 1)
			rate(b, batch.Len(), func() { m.Evaluate(x, batch) })
		})
	}
}
