package gossip_test

import (
	"math"
	"testing"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/topology"
)

// Worker i minimises (i+1)/2·(x − i)². With local steps D² still reaches the optimum of the sum; D-PSGD does not.
func TestLocalStepsOfD2ReachTheOptimum(t *testing.T) {
	const optimum = (0*1. + 1*2 + 2*3) / (1 + 2 + 3)
	d2 := func(x []float32, every int) gossip.Algorithm {
		return &algos.D2{X: x, Alpha: tenth, Codec: algos.Full{}, Every: every}
	}
	dpsgd := func(x []float32, _ int) gossip.Algorithm {
		return &algos.DPSGD{X: x, Alpha: tenth, Codec: algos.Full{}}
	}
	tests := []struct {
		name  string
		every int
		alg   func(x []float32, every int) gossip.Algorithm
		exact bool
	}{
		{"d2", 1, d2, true},
		{"d2 of two steps", 2, d2, true},
		{"d2 of five steps", 5, d2, true},
		{"dpsgd of five steps", 5, dpsgd, false},
	}
	rows := graph{{false, true, false}, {true, false, true}, {false, true, false}}.rows()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			workers := make([]*gossip.Worker, len(rows))
			for i := range workers {
				w, err := gossip.NewScheduled(topology.Rank(i), rows[i], test.alg(make([]float32, 1), test.every),
					gossip.Schedule{Rounds: 300 * test.every, Every: test.every})
				if err != nil {
					t.Fatal(err)
				}
				workers[i] = w
			}
			converge(t, workers)
			away := 0.0
			for _, w := range workers {
				away = max(away, math.Abs(float64(w.Params()[0])-optimum))
			}
			if test.exact != (away < 1e-5) {
				t.Errorf("%v away from the optimum", away)
			}
		})
	}
}

func tenth(int) float32 { return 0.1 }

// converge runs workers with the objectives above to their end.
func converge(t *testing.T, workers []*gossip.Worker) {
	t.Helper()
	for done := 0; done < len(workers); {
		done = 0
		for i, w := range workers {
			r := w.Ready()
			for _, f := range r.Send {
				if err := workers[f.To].Receive(f); err != nil {
					t.Fatal(err)
				}
			}
			if r.Compute {
				if err := w.Gradient([]float32{float32(i+1) * (r.At[0] - float32(i))}, 0, 0); err != nil {
					t.Fatal(err)
				}
			}
			if r.Done {
				done++
			}
		}
	}
}
