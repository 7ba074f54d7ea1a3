package model

import (
	"gossiptrainer/internal/kernel"
)

// A Stack is the objectives of all workers of a run.
type Stack interface {
	// Gradient is that of the objective of a worker which needs no data.
	Gradient(worker int, g, x []float32) (loss float32)
}

// A quadratics is quadratics of one problem.
type quadratics struct {
	tier      kernel.Tier
	curvature []float32
	optima    [][]float32 // by worker
}

// NewStack returns a stack of objectives, which share memory with it. It returns nil where there is none.
func NewStack(all []Objective) Stack {
	var s *quadratics
	for i, f := range all {
		q, ok := f.(*quadratic)
		if !ok || q.optimum == nil {
			return nil
		}
		if s == nil {
			s = &quadratics{kernel.Best(), q.curvature, make([][]float32, len(all))}
		}
		if &q.curvature[0] != &s.curvature[0] {
			return nil
		}
		s.optima[i] = q.optimum
	}
	if s == nil {
		return nil
	}
	return s
}

// Gradient implements Stack.
func (s *quadratics) Gradient(worker int, g, x []float32) float32 {
	return float32(kernel.Quadratic(s.tier, g, s.curvature, x, s.optima[worker]) / 2)
}
