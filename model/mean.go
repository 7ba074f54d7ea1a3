package model

import "math"

// A MeanQuadratic is the mean of the quadratics of all workers,
//
//	f(x) = ½ Σ_c a_c·((x_c − ō_c)² + v_c),  ō = (1/n) Σ_i o_i,  v = (1/n) Σ_i (o_i − ō)²
//
// with squares by coordinate: it costs as much as the objective of one worker.
type MeanQuadratic struct {
	curvature []float32
	optimum   []float64
	least     float64 // f(ō)
}

// NewMeanQuadratic returns the mean of the objectives that s describes for the
// workers 0 to workers−1, workers ≥ 1. It fails as New does.
func NewMeanQuadratic(s Spec, workers int) (*MeanQuadratic, error) {
	q, err := newQuadratic(s)
	if err != nil {
		return nil, err
	}
	m := &MeanQuadratic{curvature: q.curvature, optimum: make([]float64, q.Dim())}
	optimum, spread := make([]float32, q.Dim()), make([]float64, q.Dim()) // Σ (o_i − ō)² so far (Welford 1962)
	own := &Problem{Redraw: true, curvature: q.curvature, centre: q.centre}
	own.once.Do(func() {}) // its vectors are there
	for i := range workers {
		s.Worker = i
		for c, o := range own.worker(s).draw(optimum) {
			before := float64(o) - m.optimum[c]
			m.optimum[c] += before / float64(i+1)
			spread[c] += float64(before * (float64(o) - m.optimum[c]))
		}
	}
	for c, a := range m.curvature {
		m.least += float64(float64(a) * spread[c] / float64(2*workers))
	}
	return m, nil
}

// Evaluate computes f at x. There is no accuracy.
func (m *MeanQuadratic) Evaluate(x []float32) Score {
	sum := 0.0
	for c, a := range m.curvature {
		d := float64(x[c]) - m.optimum[c]
		sum += float64(float64(a) * d * d)
	}
	return Score{Loss: m.least + sum/2, Accuracy: math.NaN()}
}
