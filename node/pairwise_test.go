package node

import (
	"errors"
	"math"
	"sync"
	"testing"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/report"
	"gossiptrainer/topology"
)

// Workers that wait for nobody, over real links that break again and again:
// all end, and the sum of their models is that of their gradients.
func TestPairwiseWorkersKeepTheSumOverLinksThatBreak(t *testing.T) {
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
		links.Drop(topology.Rank(1+2*(k/5%2)), errors.New("cut for a test"))
	}
	models, finals, errs := make([][]float32, n), make([]report.Final, n), make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		row := job.rows(t)[i]
		models[i] = make([]float32, dim)
		m, err := gossip.NewPair(topology.Rank(i), row, &algos.ADPSGD{
			X: models[i], Alpha: func(int) float32 { return alpha }, Weight: 0.5,
			Codec: func(topology.Rank) algos.Codec { return algos.Full{} },
		}, gossip.PairPlan{Workers: n, Rounds: rounds, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		inner := job.gradient(i)
		gradient := func(g []float32, k int, x []float32) (float32, error) {
			loss, err := inner(g, k, x)
			mu.Lock()
			defer mu.Unlock()
			pulled, steps = pulled+float64(g[0]), steps+1
			return loss, err
		}
		w := Worker{
			Rank: topology.Rank(i), Row: row, Machine: m, Gradient: gradient,
			Rounds: rounds, MaxPayload: 4*dim + gossip.CensusBytes(n), Every: 1, Asynchronous: true,
		}
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
}

func TestANeighbourStartedAnewIsRefusedWhereRoundsDoNotTell(t *testing.T) {
	for _, c := range []struct {
		name  string
		paced bool
		ever  bool
		epoch uint64
		want  bool
	}{
		{"first link", false, false, 8, true},
		{"the same process", false, true, 7, true},
		{"another process", false, true, 8, false},
		{"another process, but rounds tell", true, true, 8, true},
	} {
		e := &edge{links: &links{paced: c.paced}, ever: c.ever, life: 7}
		no := e.recognise(hello{Epoch: c.epoch})
		if (no == nil) != c.want || no != nil && no.Reason != LostState {
			t.Errorf("%s: %v", c.name, no)
		}
	}
}
