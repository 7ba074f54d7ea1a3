package node

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"testing"

	"gossiptrainer/internal/record"
	"gossiptrainer/topology"
)

// A loss is a run under Reweight in which workers die while they compute the gradient of a round.
type loss struct {
	task
	dies map[int]int // rank to round
}

// run returns the results of the survivors, by rank, and the events of all workers.
func (l loss) run(t *testing.T, prepare func(w *Worker)) (map[int]record.Final, []record.Event) {
	t.Helper()
	var (
		mu     sync.Mutex
		events []record.Event
		c      *cluster
	)
	c = newCluster(t, l.n, l.dim, func(rank int, o *Options) {
		o.Observe = func(e record.Event) {
			if e.Edge != nil {
				mu.Lock()
				defer mu.Unlock()
				events = append(events, e)
			}
		}
	})
	g, err := topology.New(topology.Spec{Kind: topology.Ring, N: l.n, Slack: 1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, buried := context.WithCancel(t.Context())
	l.slow = func(rank, k int) {
		if at, ok := l.dies[rank]; ok && k == at {
			go c.nodes[rank].host.Close()
			<-ctx.Done()
		}
	}
	finals := make(map[int]record.Final)
	var living, all sync.WaitGroup
	for i, n := range c.nodes {
		w := l.worker(t, i)
		w.Lost, w.Closing = Reweight, g.Closing(topology.Rank(i))
		if prepare != nil {
			prepare(&w)
		}
		_, mortal := l.dies[i]
		if !mortal {
			living.Add(1)
		}
		all.Go(func() {
			if _, err := n.Join(ctx); err != nil {
				t.Error(err)
			}
			final, err := n.Run(ctx, w)
			if mortal {
				return
			}
			defer living.Done()
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("worker %d: %v", i, err)
			}
			mu.Lock()
			defer mu.Unlock()
			finals[i] = final
		})
	}
	living.Wait()
	buried()
	all.Wait()
	return finals, events
}

func TestTheRingClosesItsGaps(t *testing.T) {
	tests := map[string]struct {
		loss
		left [][2]int // edges between survivors
	}{
		"one": {loss{task{n: 4, dim: 100, rounds: 60}, map[int]int{2: 20}},
			[][2]int{{0, 1}, {0, 3}, {1, 3}}},
		"two at once": {loss{task{n: 8, dim: 1000, rounds: 60}, map[int]int{2: 20, 5: 20}},
			[][2]int{{0, 1}, {0, 7}, {1, 3}, {3, 4}, {4, 6}, {6, 7}}},
		"neighbours": {loss{task{n: 6, dim: 1000, rounds: 60}, map[int]int{2: 20, 3: 20}},
			[][2]int{{0, 1}, {0, 5}, {1, 4}, {4, 5}}},
		"down to two":          {loss{task{n: 4, dim: 100, rounds: 60}, map[int]int{1: 20, 2: 20}}, [][2]int{{0, 3}}},
		"one is left of three": {loss{task{n: 3, dim: 100, rounds: 60}, map[int]int{1: 20, 2: 25}}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			finals, events := test.run(t, nil)
			if len(finals) != test.n-len(test.dies) {
				t.Fatalf("%d workers came to the end", len(finals))
			}
			for rank, f := range finals {
				if f.Rounds != test.rounds {
					t.Errorf("worker %d: %d rounds of %d", rank, f.Rounds, test.rounds)
				}
			}
			dead := func(rank int) bool { _, dies := test.dies[rank]; return dies }
			views, err := record.Views(events, test.n, dead)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range views {
				if err := v.Check(); err != nil {
					t.Error(err)
				}
			}
			cuts := 0
			for _, e := range events {
				if e.Edge.Weight == 0 {
					cuts++
				}
			}
			if n := record.Lopsided(events, views, dead); n > 2*cuts { // Lead + 1 for each cut
				t.Errorf("only one end mixed in %d exchanges, where %d ends took an edge off", n, cuts)
			}
			var left [][2]int
			for i, row := range views[len(views)-1].W {
				for j := i + 1; j < test.n; j++ {
					if row[j] > 0 && !dead(i) {
						left = append(left, [2]int{i, j})
					}
				}
			}
			if !slices.Equal(left, test.left) {
				t.Errorf("at the end there are the edges %v, want %v", left, test.left)
			}
		})
	}
}

// Each worker mixes by its row of the recorded matrix, x_{k+1} = Σ W_ij x_j − αg, in every round. So
// the mean of the survivors moves by their gradients alone, except for messages over an edge to a dead
// worker.
func TestModelsMoveByTheMatricesOnRecord(t *testing.T) {
	t.Parallel() // it waits for links that are lost
	l := loss{task{n: 8, dim: 17, rounds: 60}, map[int]int{2: 20, 5: 33}}
	var mu sync.Mutex
	models, steps := make(map[[2]int][]float32), make(map[[2]int][]float32) // by rank and round
	finals, events := l.run(t, func(w *Worker) {
		rank, gradient := int(w.Rank), w.Gradient
		w.Gradient = func(g []float32, k int, x []float32) (float32, error) {
			mu.Lock()
			models[[2]int{rank, k}] = slices.Clone(x)
			mu.Unlock()
			loss, err := gradient(g, k, x)
			mu.Lock()
			defer mu.Unlock()
			steps[[2]int{rank, k}] = slices.Clone(g)
			return loss, err
		}
	})
	views, err := record.Views(events, l.n, func(rank int) bool { _, dies := l.dies[rank]; return dies })
	if err != nil {
		t.Fatal(err)
	}
	for k := range l.rounds - 1 {
		view := views[0]
		for _, v := range views {
			if v.From <= k {
				view = v
			}
		}
		for rank := range finals {
			for i, got := range models[[2]int{rank, k + 1}] {
				want := -0.05 * float64(steps[[2]int{rank, k}][i])
				for j, weight := range view.W[rank] {
					x, there := models[[2]int{j, k}]
					if weight == 0 {
						continue
					}
					if !there {
						t.Fatalf("worker %d, round %d: mixes the model of worker %d, which has none", rank, k, j)
					}
					want += weight * float64(x[i])
				}
				if math.Abs(float64(got)-want) > 1e-5*(1+math.Abs(want)) {
					t.Fatalf("worker %d, round %d: coordinate %d becomes %v, by the view from exchange %d it is %v", rank, k, i, got,
						view.From, want)
				}
			}
		}
	}
}
