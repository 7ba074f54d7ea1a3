package score

import (
	"slices"
	"testing"

	"gossiptrainer/internal/record"
	"gossiptrainer/model"
	"gossiptrainer/topology"
)

// Worker 0 is a round ahead of the others: sums of two rounds are kept at once.
func TestTheMeanOfReplicasIsScoredOnce(t *testing.T) {
	problem, err := model.NewProblem(model.Spec{Name: "quadratic", Dim: 1, Batch: 1})
	if err != nil {
		t.Fatal(err)
	}
	s := New(Setup{Workers: 3, Dim: 1, Batch: 1, Every: 10, Means: true, Spec: func(batch int) model.Spec {
		return model.Spec{Name: "quadratic", Dim: 1, Batch: batch, Problem: problem}
	}})
	var rounds []int
	a := s.NewAverager(func(e record.Event) {
		if e.Score.Rank != record.Average {
			t.Errorf("a score of rank %d", e.Score.Rank)
		}
		rounds = append(rounds, e.Score.Round)
	})
	calls := 0
	next := func([]float32, int, []float32) (float32, error) { calls++; return 0, nil }
	begun := map[int]topology.Rank{} // workers that have begun a round
	for _, k := range []int{10, 20, 10, 10, 11, 20, 20} {
		gradient := a.Watched(begun[k], next)
		begun[k]++
		if _, err := gradient(nil, k, make([]float32, 1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Conclude(InMemory{{X: make([]float32, 1)}}, 25); err != nil {
		t.Fatal(err)
	}
	if want := []int{10, 20, 25}; !slices.Equal(rounds, want) || calls != 7 || len(a.rounds) != 0 {
		t.Errorf("means of rounds %v in %d gradients, %d sums are left; want %v in 7 and none",
			rounds, calls, len(a.rounds), want)
	}
	if _, err := a.Watched(0, next)(nil, 30, []float32{1}); err != nil {
		t.Fatal(err)
	}
	if mean := a.add(1, 30, []float32{3}); mean != nil {
		t.Errorf("two of three replicas have the mean %v", mean)
	}
	if mean := a.add(2, 30, []float32{8}); !slices.Equal(mean, []float32{4}) {
		t.Errorf("mean %v, want 4", mean)
	}
}
