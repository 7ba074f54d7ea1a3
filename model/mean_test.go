package model

import (
	"math"
	"slices"
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

// Optima that are drawn again give the same bits as optima in memory.
func TestOptimaThatAreDrawnAgain(t *testing.T) {
	for _, dim := range []int{1, 4, 37} {
		s := Spec{Name: "quadratic", Dim: dim, Seed: 3, Spread: 2, Worker: 5}
		kept := newModel(t, s)
		problem, err := NewProblem(s)
		if err != nil {
			t.Fatal(err)
		}
		problem.Redraw, s.Problem = true, problem
		drawn := newModel(t, s)
		x, g, h := make([]float32, dim), make([]float32, dim), make([]float32, dim)
		drawn.Init(x, 7)
		batch := sample.Batch{}
		if a, b := kept.Gradient(g, x, batch), drawn.Gradient(h, x, batch); a != b || !slices.Equal(g, h) {
			t.Errorf("%d coordinates: loss %v and gradient %v, want %v and %v", dim, b, h, a, g)
		}
		if a, b := kept.Evaluate(x, batch).Loss, drawn.Evaluate(x, batch).Loss; a != b {
			t.Errorf("%d coordinates: score %v, want %v", dim, b, a)
		}
		if n := testing.AllocsPerRun(5, func() { drawn.Gradient(g, x, batch) }); n != 0 {
			t.Errorf("%v allocations per gradient", n)
		}
	}
}
