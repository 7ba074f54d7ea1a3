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
