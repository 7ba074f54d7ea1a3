package replay_test

import (
	"cmp"
	"slices"
	"testing"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/gossip/state"
	"gossiptrainer/moniqua"
	"gossiptrainer/topology"
)

// A task is a small run: worker i's objective is ½|x − target_i|².
type task struct {
	n, dim, rounds int
	cycle          bool          // all-reduce
	verified       bool          // Moniqua at 4 bits, first with a theta far too small
	piece          int           // coordinates of a piece; 0: messages are whole
	kind           topology.Kind // "": a ring, or the path of two
}

func (c task) rows(t testing.TB) (rows []topology.Sequence) {
	t.Helper()
	if c.cycle {
		for _, row := range topology.Cycle(c.n) {
			rows = append(rows, row)
		}
		return rows
	}
	kind := cmp.Or(c.kind, topology.Ring)
	if c.n == 2 {
		kind = topology.Path
	}
	g, err := topology.New(topology.Spec{Kind: kind, N: c.n, Slack: 1})
	if err != nil {
		t.Fatal(err)
	}
	return g.Sequences()
}

func (c task) algorithm(t testing.TB, rank topology.Rank) gossip.Algorithm {
	t.Helper()
	x := make([]float32, c.dim)
	alpha := func(int) float32 { return 0.05 }
	if c.cycle {
		return &algos.AllReduce{X: x, Alpha: alpha, Rank: int(rank), Workers: c.n}
	}
	if !c.verified {
		return &algos.DPSGD{X: x, Alpha: alpha, Codec: algos.Full{Piece: c.piece}}
	}
	control, err := moniqua.Adaptive(moniqua.ControlPlan{
		Diameter: 2 * c.n, Every: 1, Start: 1e-3, Unit: func(int) float64 { return 1 },
	})
	if err != nil {
		t.Fatal(err)
	}
	codec := &moniqua.Codec{Levels: 16, Theta: control.Theta, Control: control, Verify: true, Rank: rank, Piece: c.piece}
	codec.Behind(c.rows(t)[rank].Ahead())
	return &algos.DPSGD{X: x, Alpha: alpha, Codec: codec}
}

// machine returns the machine of a worker, at the beginning or at the boundary of s.
func (c task) machine(t testing.TB, rank topology.Rank, s *state.Snapshot) *gossip.Worker {
	t.Helper()
	row, alg := c.rows(t)[rank], c.algorithm(t, rank)
	var m *gossip.Worker
	var err error
	if s == nil {
		m, err = gossip.New(rank, row, alg, c.rounds)
	} else {
		m, err = gossip.Resume(rank, row, alg, gossip.Schedule{Rounds: c.rounds, Every: 1}, s)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// gradient returns the gradient of a worker at x.
func (c task) gradient(rank topology.Rank, x []float32) []float32 {
	g := make([]float32, c.dim)
	for i := range g {
		g[i] = x[i] - float32((int(rank)+1)*(i%17+1))
	}
	return g
}

// undisturbed runs the workers without recovery and with whole messages, and returns their last models.
func (c task) undisturbed(t testing.TB) [][]float32 {
	t.Helper()
	c.piece = 0
	machines := make([]*gossip.Worker, c.n)
	for i := range machines {
		machines[i] = c.machine(t, topology.Rank(i), nil)
	}
	for busy := true; busy; {
		busy = false
		for i, m := range machines {
			r := m.Ready()
			for _, f := range r.Send {
				f.Payload = slices.Clone(f.Payload)
				if err := machines[f.To].Receive(f); err != nil {
					t.Fatal(err)
				}
			}
			if r.Compute {
				if err := m.Gradient(c.gradient(topology.Rank(i), r.At), 0, 0); err != nil {
					t.Fatal(err)
				}
			}
			busy = busy || r.Compute || len(r.Send) > 0
		}
	}
	var models [][]float32
	for _, m := range machines {
		models = append(models, slices.Clone(m.Params()))
	}
	return models
}
