//go:build !race

// One goroutine plays a hundred scripts here. The race detector sees the threads of TestCoresChangeNoResult.

package sim

import (
	"context"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	layers "gossiptrainer/gossip/peer"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/fault"
	_ "gossiptrainer/internal/proptest"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/shape"
	"gossiptrainer/internal/witness"
	"gossiptrainer/internal/work"
	"gossiptrainer/topology"
)

// A mixingRun has workers that mix and take no gradients, so that the sum of their models does not change.
type mixingRun struct {
	graph   *topology.Graph
	rounds  int
	algs    []*witness.Witness
	initial []float64 // sum of the models; a worker that comes back has another model than before
	tasks   []work.Task
	back    int // workers that have come back
	lives   [][]*witness.Witness
	codec   algos.Full // with messages of one piece or of two
}

const mixingRunDim = 3

func newMixingRun(t rapid.TB, spec topology.Spec, rounds, piece int) *mixingRun {
	t.Helper()
	g, err := topology.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	c := &mixingRun{
		graph: g, rounds: rounds, initial: make([]float64, mixingRunDim),
		codec: algos.Full{Piece: piece},
	}
	for i, row := range g.Rows(0) {
		x := make([]float32, mixingRunDim)
		for d := range x {
			x[d] = float32(math.Sin(float64(5*i + d)))
			c.initial[d] += float64(x[d])
		}
		alg := witness.New(x, c.codec)
		m, err := gossip.New(topology.Rank(i), row, alg, rounds)
		if err != nil {
			t.Fatal(err)
		}
		c.algs, c.lives = append(c.algs, alg), append(c.lives, []*witness.Witness{alg})
		c.tasks = append(c.tasks, c.task(topology.Rank(i), row, m))
	}
	return c
}

func (c *mixingRun) task(rank topology.Rank, row topology.Row, m *gossip.Worker) work.Task {
	return work.Task{
		Rank: rank, Rows: row, Closing: c.graph.Closing(rank), Machine: m, Rounds: c.rounds,
		Gradient: func([]float32, int, []float32) (float32, error) { return 0, nil },
		Save: func(s *state.Snapshot) {
			s.Begin()
			s.Save("machine", m)
		},
	}
}

// join returns a worker that comes back with the state of its sponsor.
func (c *mixingRun) join(rank, sponsor topology.Rank, s *state.Snapshot) (work.Task, error) {
	weight := c.graph.Closing(rank).Weight
	row := topology.Row{
		Self: 1 - weight, In: []topology.Edge{{Peer: sponsor, Weight: weight}}, Out: []topology.Rank{sponsor},
	}
	old, alg := c.algs[rank], witness.New(make([]float32, mixingRunDim), c.codec)
	m, err := gossip.Resume(rank, row, alg, gossip.Schedule{Rounds: c.rounds, Every: 1}, s)
	if err != nil {
		return work.Task{}, err
	}
	for d := range c.initial {
		c.initial[d] += float64(alg.X[d]) - float64(old.X[d])
	}
	c.algs[rank] = alg
	c.back++
	c.lives[rank] = append(c.lives[rank], alg)
	return c.task(rank, row, m), nil
}

// merged returns the weights and models of each worker in all its processes. It is not ok if two
// processes of a worker mixed in one round: a neighbour's record does not tell them apart.
func (c *mixingRun) merged() (all []*witness.Witness, ok bool) {
	for rank, lives := range c.lives {
		one := witness.New(c.algs[rank].X, c.codec)
		for _, a := range lives {
			for k := range a.Mixed {
				if one.Mixed[k] != nil {
					return nil, false
				}
			}
			maps.Copy(one.Mixed, a.Mixed)
			maps.Copy(one.Sent, a.Sent)
		}
		all = append(all, one)
	}
	return all, true
}

// check tests the exchanges of the workers. Both ends of an edge mix with one weight, except in a few exchanges of a
// lost edge, and every row of weights sums to 1. It returns the number of exchanges in which only one end mixed.
func (c *mixingRun) check(t rapid.TB) (lopsided int) {
	all, ok := c.merged()
	if !ok {
		return 0
	}
	drift := slices.Clone(c.initial)
	for k := range c.rounds {
		for i, a := range all {
			self := float32(1)
			for j, w := range a.Mixed[k] {
				self -= w
				back, both := all[j].Mixed[k][topology.Rank(i)]
				if both && back != w {
					t.Fatalf("exchange %d: W[%d][%d] = %v, W[%d][%d] = %v", k, i, j, w, j, i, back)
				}
				if both {
					continue
				}
				lopsided++
				for d := range drift {
					drift[d] += float64(w) * (float64(all[j].Sent[k][d]) - float64(a.Sent[k][d]))
				}
			}
			if self < -1e-6 {
				t.Fatalf("exchange %d: W[%d][%d] = %v", k, i, i, self)
			}
		}
	}
	for d, want := range drift {
		got := 0.
		for _, a := range c.algs {
			got += float64(a.X[d])
		}
		if math.Abs(got-want) > 1e-4 {
			t.Fatalf("coordinate %d: the models sum to %v, want %v with the %d exchanges in which one end mixed",
				d, got, want, lopsided)
		}
	}
	return lopsided
}

// views returns an error if a recorded mixing matrix is not doubly stochastic.
func (c *mixingRun) views(events []record.Event, gone []topology.Rank) error {
	lost := func(rank int) bool { return slices.Contains(gone, topology.Rank(rank)) }
	views, err := record.Views(events, c.graph.N(), lost)
	for _, v := range views {
		if err == nil {
			err = v.Check()
		}
	}
	return err
}

// survive runs the workers under a script. It fails unless every mixing matrix is doubly stochastic and the models keep
// their mean.
func (c *mixingRun) survive(t rapid.TB, script []fault.Fault) {
	t.Helper()
	var events []record.Event
	result, err := Run(context.Background(), c.tasks, Options{
		Compute: takes(20 * time.Millisecond),
		Network: shape.Network{Uplink: shape.Link{Latency: 2 * time.Millisecond}},
		Observe: func(e record.Event) {
			if e.Edge != nil {
				events = append(events, e)
			}
		},
		Faults: &Faults{Script: script, Lost: layers.Reweight, Join: c.join, Detect: 2 * time.Second},
	})
	if err != nil {
		t.Fatalf("%v after %v", err, script)
	}
	if err := c.views(events, result.Gone); err != nil {
		t.Fatalf("%v after %v", err, script)
	}
	lopsided := c.check(t)
	if most := 2 * 2 * c.graph.N() * len(script); lopsided > most {
		t.Fatalf("in %d exchanges only one end mixed, want at most %d", lopsided, most)
	}
}

// Workers that go on without each other keep the mean of their models under any script. W is symmetric
// and doubly stochastic except in a few exchanges for each lost edge.
func TestAScriptKeepsTheMeanUnderReweight(t *testing.T) {
	back := 0
	rapid.Check(t, func(t *rapid.T) {
		spec := rapid.SampledFrom([]topology.Spec{
			{Kind: topology.Ring, N: 3, Slack: 1}, {Kind: topology.Ring, N: 5, Slack: 0.5},
			{Kind: topology.Ring, N: 8, Slack: 1},
			{Kind: topology.Complete, N: 5, Slack: 1}, {Kind: topology.Torus, Rows: 3, Cols: 3, Slack: 1},
		}).Draw(t, "graph")
		c := newMixingRun(t, spec, 300, rapid.SampledFrom([]int{0, 2}).Draw(t, "piece"))
		var script []fault.Fault
		n := c.graph.N()
		someone := func(name string) topology.Rank { return topology.Rank(rapid.IntRange(0, n-1).Draw(t, name)) }
		kinds := []fault.Kind{fault.Kill, fault.Kill, fault.Cut, fault.Hang, fault.Slow, fault.Split}
		for range rapid.IntRange(1, 6).Draw(t, "faults") {
			f := fault.Fault{
				At:    fault.Moment{Round: rapid.IntRange(1, 200).Draw(t, "round")},
				Kind:  rapid.SampledFrom(kinds).Draw(t, "kind"),
				Lasts: time.Duration(rapid.IntRange(1, 6000).Draw(t, "ms")) * time.Millisecond,
				By:    2, Peers: []topology.Rank{someone("peer")},
			}
			switch f.Kind {
			case fault.Kill:
				if rapid.Bool().Draw(t, "for good") {
					f.Lasts = fault.Never
				}
			case fault.Cut:
				f.Peers = append(f.Peers, (f.Peers[0]+1)%topology.Rank(n))
			case fault.Split:
				f.Sides = [][]topology.Rank{f.Peers}
			}
			script = append(script, f)
		}
		c.survive(t, script)
		back += c.back
	})
	if back == 0 {
		t.Error("nobody came back: the test has not seen that")
	}
}

// killed is a script in which the process of a worker dies at a round, and another starts after some milliseconds; 0:
// never.
func killed(round int, who topology.Rank, ms int) fault.Fault {
	f := fault.Fault{
		At: fault.Moment{Round: round}, Kind: fault.Kill, Lasts: fault.Never, Peers: []topology.Rank{who},
	}
	if ms > 0 {
		f.Lasts = time.Duration(ms) * time.Millisecond
	}
	return f
}

func partedAt(round int, who topology.Rank, ms int) fault.Fault {
	f := killed(round, who, ms)
	f.Kind, f.Sides = fault.Split, [][]topology.Rank{f.Peers}
	return f
}

// Each of these scripts once left workers that waited for each other for ever.
func TestWorkersThatDieOneAfterTheOtherDoNotWaitForEver(t *testing.T) {
	three, five := topology.Spec{Kind: topology.Ring, N: 3, Slack: 1}, topology.Spec{Kind: topology.Ring, N: 5, Slack: 0.5}
	for name, test := range map[string]struct {
		ring   topology.Spec
		script []fault.Fault
	}{
		"its sponsor has refused an earlier process": {three, []fault.Fault{
			killed(69, 2, 485), killed(90, 0, 0), killed(6, 0, 7), killed(5, 1, 4394),
		}},
		"an earlier process has refused its sponsor": {five, []fault.Fault{
			killed(11, 0, 192), killed(107, 0, 21), killed(9, 4, 5),
		}},
		"its sponsor dies before the two meet": {five, []fault.Fault{
			partedAt(3, 3, 4944), killed(18, 1, 10), killed(20, 0, 18), killed(8, 4, 63),
		}},
		"all die": {three, []fault.Fault{
			killed(2, 1, 2751), killed(106, 0, 31), killed(3, 2, 0), partedAt(4, 1, 161), killed(2, 0, 5), killed(5, 1, 0),
		}},
	} {
		t.Run(name, func(t *testing.T) { newMixingRun(t, test.ring, 300, 0).survive(t, test.script) })
	}
}
