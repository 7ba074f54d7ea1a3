package experiment

import (
	"fmt"

	"gossiptrainer/configs"
	"gossiptrainer/gossip"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/train"
	"gossiptrainer/model"
	"gossiptrainer/topology"
)

// checkViews returns why members of the run cannot come and go, nil if they can or if they need not.
func (r *Run) checkViews() error {
	if !r.cfg.Views() {
		return nil
	}
	a, t := r.cfg.Algorithm, r.cfg.Topology
	rows, cols := topology.Sides(t.Size)
	switch {
	case !r.method.Takes.Views.Given:
		return configs.Errorf("algorithm.name", "%s: members cannot come and go: it %s", r.method,
			r.method.Takes.Views.Reason())
	case r.cfg.External():
		return configs.Errorf("model.name", "%s: members cannot come and go here: only its script can train it",
			r.cfg.Model.Name)
	case r.controlled():
		return configs.Errorf("algorithm.controller.name", "%s: members cannot come and go: they would not agree on bits: "+
			"must be fix", a.Controller.Name)
	case r.quantized() && a.Theta.Rule != "fixed":
		return configs.Errorf("algorithm.theta.rule", "%s: members cannot come and go: the bound is one of pairs that stay: "+
			"must be fixed", a.Theta.Rule)
	case r.data.Local():
		return configs.Errorf("data.partition", "local: members cannot come and go here: each worker has files of its own: "+
			"must be iid, labels or dirichlet")
	case r.cfg.Data.Weighted():
		return configs.Errorf("data.weights", "%s: members cannot come and go: the weights are those of the founders: "+
			"must be workers", r.cfg.Data.Weights)
	case r.cfg.Data.Sizes.Law == "shares":
		return configs.Errorf("data.sizes.law", "shares: members cannot come and go: the list is one of the founders: "+
			"must be natural, equal, power or dirichlet")
	case len(r.cfg.Data.LabelNoise) > 1:
		return configs.Errorf("data.label_noise", "members cannot come and go: the list is one of the founders: "+
			"must have one number")
	case len(r.cfg.Train.Slow) > 0:
		return configs.Errorf("train.slow", "members cannot come and go: its keys are ranks of founders: leave it out")
	case len(r.cfg.Limit.Links) > 0:
		return configs.Errorf("limit.links", "members cannot come and go: its keys are ranks of founders: leave it out, "+
			"and give limit.rate or limit.latency")
	case r.method.On.Kind != "":
		return nil
	case topology.Kind(t.Kind).Sized() != "":
		return configs.Errorf("topology.kind", "%s: members cannot come and go: %s", t.Kind, topology.Kind(t.Kind).Sized())
	case topology.Kind(t.Kind).Takes("rows") && (t.Rows != rows || t.Cols != cols):
		return configs.Errorf("topology.rows", "%dx%d: members cannot come and go: each view takes the grid nearest to a "+
			"square: must be %dx%d", t.Rows, t.Cols, rows, cols).With("topology.cols")
	}
	return r.checkSizes()
}

// mostChecked is the largest number of members of a run whose algorithm needs a property of W: a check for each number
// takes 24·n² bytes and n³ operations.
const mostChecked = 256

// checkSizes checks graph and algorithm for each number of members.
func (r *Run) checkSizes() error {
	m, on := r.cfg.Membership, r.method.On
	if on.Met != nil && m.Max > mostChecked {
		return configs.Errorf("membership.max", "%d: %s needs %s for each number of members: must be at most %d", m.Max,
			r.method, on.Need, mostChecked)
	}
	for n := m.Min; n <= m.Max; n++ {
		spec := sized(r.graph.Spec(), n)
		if setting, why := spec.Check(); setting != "" {
			return configs.Errorf("topology."+setting, "%d members: %s", n, why).With("membership.min", "membership.max")
		}
		if on.Met == nil {
			continue
		}
		g, err := topology.New(spec)
		if err == nil {
			err = r.admit(g)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sized returns a graph for n members. A torus takes the grid nearest to a square.
func sized(spec topology.Spec, n int) topology.Spec {
	spec.N, spec.Rows, spec.Cols = n, 0, 0
	if spec.Kind.Takes("rows") {
		spec.Rows, spec.Cols = topology.Sides(n)
	}
	return spec
}

// Gathering returns the rows of n workers, by rank, if the algorithm of a run needs all of them in every exchange; nil
// where workers mix with neighbours.
func Gathering(r *Run) func(n int) ([]topology.Sequence, error) { return r.method.Together(r.cfg.Seed) }

// Resized returns the run with another number of workers. All that auto has chosen stays.
func Resized(r *Run, n int) (*Run, error) {
	cfg := r.cfg
	cfg.Membership, cfg.Topology.Size = configs.Default().Membership, n
	cfg.Train.Epochs = 0 // their rounds are known
	spec := sized(cfg.Topology.Spec(), n)
	cfg.Topology.Rows, cfg.Topology.Cols = spec.Rows, spec.Cols
	resized, err := New(cfg)
	if err != nil {
		return nil, fmt.Errorf("a view of %d members: %w", n, err)
	}
	return resized, nil
}

// An Entry is the place of a member in a run whose members come and go.
type Entry struct {
	ID       topology.Rank // the address of its noise and its mini-batches
	Seat     int           // among the workers of an all-reduce
	Workers  int           // that take part
	Rows     topology.Sequence
	Rounds   int
	Shard    data.Set
	Entrance gossip.Entrance // without a state: the member is a founder
}

// A Member is a worker of a run whose members come and go, in one view.
type Member struct {
	machine *gossip.Worker
	oracle  *train.Oracle
	builder *builder
	g       []float32
}

// serverNoise is the address of the noise of a server's messages: no member has it as an id.
const serverNoise = 1<<31 - 7

// Enter makes a member at its place. The run is that of as many workers as the view has members.
func Enter(r *Run, e Entry) (*Member, error) {
	b := &builder{Run: r, rank: e.ID, rows: e.Rows}
	objective, err := model.New(b.modelSpec(int(e.ID), b.cfg.Train.Batch))
	if err != nil {
		return nil, err
	}
	oracle, err := b.oracle(objective, e.Shard)
	if err != nil {
		return nil, err
	}
	saved := e.Entrance.State
	x, err := b.begin(objective, saved)
	if err == nil && saved != nil {
		err = saved.Load("oracle", oracle)
	}
	if err != nil {
		return nil, err
	}
	parts, err := b.parts(x)
	if err != nil {
		return nil, err
	}
	parts.Seat, parts.Workers, parts.Server = e.Seat, e.Workers, serverNoise
	rule, err := b.method.Build(parts)
	if err != nil {
		return nil, err
	}
	m := &Member{oracle: oracle, builder: b, g: make([]float32, len(x))}
	schedule := gossip.Schedule{Rounds: e.Rounds, Every: b.cfg.Algorithm.LocalSteps}
	if saved == nil {
		m.machine, err = gossip.NewScheduled(e.ID, e.Rows, rule, schedule)
	} else {
		m.machine, err = gossip.Enter(e.ID, e.Rows, rule, schedule, e.Entrance)
	}
	return m, err
}

// Machine returns the machine.
func (m *Member) Machine() *gossip.Worker { return m.machine }

// Gradient takes the gradient of round k at x. The result is valid until the next call.
func (m *Member) Gradient(k int, x []float32) ([]float32, float32, error) {
	loss, err := m.oracle.Gradient(m.g, k, x)
	if err != nil {
		err = m.builder.Diverged(err)
	}
	return m.g, loss, err
}

// Save enters the state of the oracle.
func (m *Member) Save(s *state.Snapshot) { s.Save("oracle", m.oracle) }
