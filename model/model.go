// Package model has ready-made objectives f_i over one flat float32 parameter vector, with
// hand-written gradients: quadratic, logistic, mlp, lenet, resnet, vgg11, vgg16.
//
//	m, err := model.New(model.Spec{
//		Name: "mlp", Shape: sample.Shape{H: 28, W: 28, C: 1}, Classes: 10, Batch: 32, Hidden: []int{128},
//	})
//	x, g := make([]float32, m.Dim()), make([]float32, m.Dim())
//	m.Init(x, seed)
//	loss := m.Gradient(g, x, batch) // a sample.Batch
//	score := m.Evaluate(x, batch)
//
// The package has no automatic differentiation, no optimizer and no randomness beyond the
// initial point. It reads no data.
package model

import (
	"gossiptrainer/model/sample"
)

// A Score is the result of an evaluation.
type Score struct {
	Loss     float64 // mean loss per sample (for quadratic: the objective)
	Accuracy float64 // share of samples classified correctly; NaN where it has no meaning
	Samples  int
}

// An Objective is f_i: a loss over a flat parameter vector. It owns scratch
// memory and is not safe for concurrent use.
type Objective interface {
	// Dim returns d, the number of parameters.
	Dim() int
	// Init writes the starting point x⁰ into x, a function of seed alone: the
	// same bits on every worker.
	Init(x []float32, seed uint64)
	// Gradient overwrites g with the gradient of the mean loss over batch at
	// x and returns that loss.
	Gradient(g, x []float32, batch sample.Batch) (loss float32)
	// Evaluate returns loss and accuracy at x over batch, with running
	// statistics where the model has them.
	Evaluate(x []float32, batch sample.Batch) Score
}

// A Classifier is an objective that gives the probability of each class.
type Classifier interface {
	Objective
	// Classify is Evaluate. It also writes the probabilities of all classes into p, sample after sample, which do not
	// depend on the labels of the batch.
	Classify(p []float64, x []float32, batch sample.Batch) Score
}

// A Holder is an objective that can prepare a model once for many calls of Evaluate and Classify.
type Holder interface {
	// Hold says that all such calls have the same x until Release.
	Hold()
	Release()
}

// A Model is an objective whose parameters have names.
type Model interface {
	Objective
	// Layout lists the parameters in the order of the flat vector, which they
	// fill without gaps.
	Layout() []Param
}

// A Param is a named view of the flat parameter vector.
type Param struct {
	Name  string
	Off   int   // index of the first element
	Shape []int // row-major; convolutions [ky][kx][in][out], dense layers [in][out]
}

// Len returns the number of elements, the product of Shape.
func (p Param) Len() int {
	n := 1
	for _, size := range p.Shape {
		n *= size
	}
	return n
}

// of returns the part of the flat vector x, or of its gradient, that p names.
func (p Param) of(x []float32) []float32 {
	end := p.Off + p.Len()
	return x[p.Off:end:end]
}
