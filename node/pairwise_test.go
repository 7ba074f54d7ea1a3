package node

import (
	"errors"
	"math"
	"sync"
	"testing"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/rng"
	"gossiptrainer/internal/work"
	"gossiptrainer/moniqua"
	"gossiptrainer/topology"
)

// Asynchronous workers train over real links that break again and again: all end, and the sum of their
// models is that of their gradients.
func TestPairwiseWorkersKeepTheSumOverLinksThatBreak(t *testing.T) {
	t.Run("full precision", func(t *testing.T) {
		keepTheSum(t, func(i, j int) algos.Codec { return algos.Full{} })
	})
	t.Run("moniqua, theta far too small", func(t *testing.T) {
		counts := keepTheSum(t, func(i, j int) algos.Codec {
			control, err := moniqua.NewPairFixed(1e-3)
			if err != nil {
				t.Fatal(err)
			}
			codec, err := moniqua.NewPair(moniqua.Codec{
				Levels: 16, Seed: rng.Edge(1, i, j), Rank: topology.Rank(i), Verify: true,
			}, topology.Rank(j), control)
			if err != nil {
				t.Fatal(err)
			}
			return codec
		})
		if counts.Repaired == 0 || counts.Repaired > counts.Violations {
			t.Errorf("%+v, want messages repaired", counts)
		}
	})
}

// keepTheSum runs workers with the codec of each pair of worker and neighbour.
func keepTheSum(t *testing.T, codec func(i, j int) algos.Codec) (counts gossip.Repairs) {
	t.Helper()
	const n, dim, rounds, alpha = 5, 500, 60, 0.05
	job := task{n: n, dim: dim, rounds: rounds}
	c := newCluster(t, n, dim, nil)
	var mu sync.Mutex
	pulled, steps := 0.0, 0
	job.slow = func(rank, k int) {
		if rank != 2 || k%5 != 4 {
			return
		}
		node := c.nodes[rank]
		node.mu.Lock()
		links := node.links
		node.mu.Unlock()
		links.Control(gossip.Control{
			Kind: gossip.DropLink, Peer: topology.Rank(1 + 2*(k/5%2)), Why: errors.New("cut for a test"),
		})
	}
	models, finals, errs := make([][]float32, n), make([]record.Final, n), make([]error, n)
	machines := make([]*gossip.PairWorker, n)
	var wg sync.WaitGroup
	for i := range n {
		row := job.rows(t)[i]
		models[i] = make([]float32, dim)
		codecs := make([]algos.Codec, n)
		for j := range codecs {
			codecs[j] = codec(i, j)
		}
		m, err := gossip.NewPair(topology.Rank(i), row.At(0), &algos.ADPSGD{
			X: models[i], Alpha: func(int) float32 { return alpha }, Weight: 0.5,
			Codec: func(peer topology.Rank) algos.Codec { return codecs[peer] },
		}, gossip.PairPlan{Workers: n, Rounds: rounds, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		machines[i] = m
		inner := job.gradient(i)
		gradient := func(g []float32, k int, x []float32) (float32, error) {
			loss, err := inner(g, k, x)
			mu.Lock()
			defer mu.Unlock()
			pulled, steps = pulled+float64(g[0]), steps+1
			return loss, err
		}
		w := Worker{Task: work.Task{
			Rank: topology.Rank(i), Rows: row, Machine: m, Gradient: gradient, Rounds: rounds,
			MaxPayload: 5*dim + gossip.CensusBytes(n), Asynchronous: true, Recording: work.Recording{Every: 1},
		}}
		wg.Go(func() {
			if _, err := c.nodes[i].Join(t.Context()); err != nil {
				errs[i] = err
				return
			}
			finals[i], errs[i] = c.nodes[i].Run(t.Context(), w)
		})
	}
	wg.Wait()
	sum, done := 0.0, 0
	for i, x := range models {
		if errs[i] != nil {
			t.Fatalf("worker %d: %v", i, errs[i])
		}
		sum += float64(x[0])
		done += finals[i].Rounds
	}
	if want := -alpha * pulled; math.Abs(sum-want) > 1e-3 {
		t.Errorf("the models add up to %v, want %v by the gradients alone", sum, want)
	}
	if done != steps || steps < n*rounds {
		t.Errorf("%d steps in the results of %d gradients, want at least %d", done, steps, n*rounds)
	}
	for _, m := range machines {
		r := m.Repairs()
		counts.Violations, counts.Repaired = counts.Violations+r.Violations, counts.Repaired+r.Repaired
	}
	return counts
}
