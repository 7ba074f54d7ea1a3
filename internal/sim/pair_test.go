package sim

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/internal/fault"
	"gossiptrainer/internal/rng"
	"gossiptrainer/internal/shape"
	"gossiptrainer/internal/work"
	"gossiptrainer/topology"
)

// Workers of AD-PSGD run on any links. Their gradients take any time, and links break for a while. Every run ends, no
// worker is left out, and the sum of the models moves by the gradients alone.
func TestAnyScheduleOfPairsEndsAndKeepsTheSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, each := rapid.IntRange(2, 6).Draw(t, "workers"), rapid.IntRange(1, 12).Draw(t, "rounds")
		kinds := []topology.Kind{topology.Ring, topology.Star, topology.Complete, topology.Path}
		kind := rapid.SampledFrom(kinds).Draw(t, "kind")
		c := newPairRun(t, topology.Spec{Kind: kind, N: n, Slack: 1}, each)
		key := rng.At(rapid.Uint64().Draw(t, "times"), 0)
		opt := Options{
			Network: shape.Network{Uplink: shape.Link{
				Rate:    rapid.SampledFrom([]float64{0, 1e5, 1e7}).Draw(t, "rate"),
				Latency: time.Duration(rapid.IntRange(0, 20000).Draw(t, "latency")) * time.Microsecond,
			}},
			Compute: func(rank topology.Rank, k int) time.Duration {
				return time.Duration(float64(30*time.Millisecond) * float64(key.Uniform(uint32(1000*int(rank)+k))))
			},
		}
		if cuts := rapid.IntRange(0, 3).Draw(t, "cuts"); cuts > 0 {
			opt.Faults = &Faults{Keep: 1, Detect: time.Second}
			for range cuts {
				i := rapid.IntRange(1, n-1).Draw(t, "end")
				when := time.Duration(rapid.IntRange(0, 200).Draw(t, "at")) * time.Millisecond
				opt.Faults.Script = append(opt.Faults.Script, fault.Fault{
					At: fault.Moment{Timed: true, Time: when}, Kind: fault.Cut, Lasts: 50 * time.Millisecond,
					Peers: []topology.Rank{topology.Rank(i - 1), topology.Rank(i)},
				})
			}
		}
		res, err := Run(t.Context(), c.tasks, opt)
		if err != nil {
			t.Fatal(err)
		}
		total := 0
		for _, steps := range res.Rounds {
			total += steps
		}
		if total < n*each || slices.Min(res.Rounds) < min(1, each-1) {
			t.Fatalf("steps %v of %d", res.Rounds, n*each)
		}
		if sum := c.sum(); math.Abs(sum-c.start) > 1e-4 {
			t.Fatalf("the models add up to %v, want %v", sum, c.start)
		}
	})
}

// A pairRun has workers of AD-PSGD whose gradients are 0.
type pairRun struct {
	algs  []*algos.ADPSGD
	tasks []work.Task
	start float64
}

func newPairRun(t rapid.TB, spec topology.Spec, rounds int) *pairRun {
	t.Helper()
	g, err := topology.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	c := &pairRun{}
	for i := range g.N() {
		alg := &algos.ADPSGD{
			X: []float32{float32(math.Sin(float64(5 * i))), 1}, Alpha: alpha, Weight: 0.5,
			Codec: func(topology.Rank) algos.Codec { return algos.Full{} },
		}
		rank := topology.Rank(i)
		m, err := gossip.NewPair(rank, g.Row(rank, 0), alg, gossip.PairPlan{Workers: g.N(), Rounds: rounds, Seed: 3})
		if err != nil {
			t.Fatal(err)
		}
		c.algs = append(c.algs, alg)
		c.tasks = append(c.tasks, work.Task{
			Rank: rank, Machine: m, Rounds: g.N() * rounds, Rows: g.Sequences()[i],
			Gradient: func(g []float32, _ int, _ []float32) (float32, error) { clear(g); return 0, nil },
		})
	}
	c.start = c.sum()
	return c
}

func (c *pairRun) sum() (sum float64) {
	for _, a := range c.algs {
		sum += float64(a.X[0])
	}
	return sum
}
