package model

import (
	"math"
	"testing"

	"gossiptrainer/model/sample"
)

func TestMeanOfQuadratics(t *testing.T) {
	const dim, workers = 37, 5
	s := Spec{Name: "quadratic", Dim: dim, Seed: 3, Spread: 2}
	mean, err := NewMeanQuadratic(s, workers)
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, dim)
	for shift := range 3 {
		for c := range x {
			x[c] = float32(c*shift) / 7
		}
		want := 0.0
		for worker := range workers {
			s.Worker = worker
			want += newModel(t, s).Evaluate(x, sample.Batch{}).Loss / workers
		}
		if got := mean.Evaluate(x); math.Abs(got.Loss-want) > 1e-12*want || !math.IsNaN(got.Accuracy) {
			t.Errorf("%+v, want %v without accuracy", got, want)
		}
	}
	if _, err := NewMeanQuadratic(Spec{}, 2); err == nil {
		t.Error("a mean of quadratics without coordinates")
	}
}
