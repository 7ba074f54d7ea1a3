package build

import (
	"math"
	"sync"

	"gossiptrainer/gossip"
	"gossiptrainer/gossip/state"
	"gossiptrainer/gossip/view"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/modulo"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/score"
	"gossiptrainer/internal/train"
	"gossiptrainer/internal/work"
	"gossiptrainer/model"
	"gossiptrainer/moniqua"
	"gossiptrainer/quant"
	"gossiptrainer/topology"
)

// Gathering returns the rows of n workers, by rank, if the algorithm of a run needs all of them in every exchange; nil
// where workers mix with neighbours.
func Gathering(r *experiment.Run) func(n int) ([]topology.Sequence, error) {
	return r.Method().Together(r.Config().Seed)
}

// An Entry is the place of a member in a run whose members come and go.
type Entry struct {
	Log      *view.Log
	View     int
	Theta    *modulo.Certificates // of the run; nil: its rule is not certified
	ID       topology.Rank        // the address of its noise and its mini-batches
	Rank     int                  // among the members of the view
	Seat     int                  // among the workers of an all-reduce
	Workers  int                  // that take part
	Rows     topology.Sequence
	Rounds   int
	Shard    data.Set
	Entrance gossip.Entrance // without a state: the member is a founder
	Before   *Member         // the same one in its view before, whose last round has a loss; nil: none
}

// A Member is a worker of a run whose members come and go, in one view.
type Member struct {
	machine   gossip.Machine
	oracle    *train.Oracle
	objective model.Objective // nil: a program has it
	builder   *builder
	control   *moniqua.PairControl              // of pairs; nil: none
	parts     func(f gossip.Frame) quant.Layout // nil: it was not asked for yet
	g         []float32
	loss      float32 // of the last gradient
	test      sync.Once
	tested    model.Score // by Test
	failed    error
}

// serverNoise is the address of the noise of a server's messages: no member has it as an id.
const serverNoise = 1<<31 - 7

// Enter makes a member at its place. The run is that of as many workers as the view has members.
func Enter(r *experiment.Run, e Entry) (*Member, error) {
	b := newBuilder(r, e.ID, e.Rows)
	b.chapter = &modulo.Chapter{Log: e.Log, View: e.View}
	if e.Theta != nil {
		theta, err := e.Theta.Rule(e.Log, e.View)
		if err != nil {
			return nil, err
		}
		b.chapter.Theta = []func(k int) float64{theta}
	}
	if err := b.agree(topology.Rank(e.Rank)); err != nil {
		return nil, err
	}
	saved := e.Entrance.State
	objective, oracle, x, err := taskOf(b, e.Shard, saved)
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
	m := &Member{oracle: oracle, objective: objective, builder: b, g: make([]float32, len(x))}
	if e.Before != nil {
		m.loss = e.Before.loss
	}
	schedule := gossip.Schedule{Rounds: e.Rounds, Every: b.run.Config().Algorithm.LocalSteps, Agreed: b.agreed}
	var w *gossip.Worker
	if saved == nil {
		w, err = gossip.NewScheduled(e.ID, e.Rows, rule, schedule)
	} else {
		w, err = gossip.Enter(e.ID, e.Rows, rule, schedule, e.Entrance)
	}
	m.machine = w
	return m, err
}

// taskOf returns what the member trains: an objective, unless a program has it, the oracle of its gradients, and where
// it begins. A saved state has another beginning.
func taskOf(b *builder, shard data.Set, saved *state.Snapshot) (
	model.Objective, *train.Oracle, []float32, error) {
	cfg := b.run.Config()
	if cfg.External() {
		x, err := b.origin(saved)
		if err != nil {
			return nil, nil, nil, err
		}
		oracle, err := b.outside()
		return nil, oracle, x, err
	}
	objective, err := model.New(b.run.ModelSpec(int(b.rank), cfg.Train.Batch))
	if err != nil {
		return nil, nil, nil, err
	}
	oracle, err := b.oracle(objective, &shard)
	if err != nil {
		return nil, nil, nil, err
	}
	x, err := b.begin(objective, saved)
	return objective, oracle, x, err
}

// Machine returns the machine of a member whose rounds are those of all, nil of another.
func (m *Member) Machine() *gossip.Worker {
	w, _ := m.machine.(*gossip.Worker)
	return w
}

// Gradient takes the gradient of round k at x. The result is valid until the next call.
func (m *Member) Gradient(k int, x []float32) ([]float32, float32, error) {
	var err error
	if m.loss, err = m.oracle.Gradient(m.g, k, x); err != nil {
		err = m.builder.run.Diverged(err)
	}
	return m.g, m.loss, err
}

// Layout returns the parts of the payload of a frame, for the entropy coder.
func (m *Member) Layout(f gossip.Frame) quant.Layout {
	if m.parts == nil {
		var err error
		if m.parts, err = m.builder.layouts(m.machine); err != nil {
			m.parts = func(f gossip.Frame) quant.Layout { return quant.Bytes(len(f.Payload)) }
		}
	}
	return m.parts(f)
}

// Score scores the replica before round k on a sample of the test rows, if an evaluation is due then. The model of a
// member that meets others in pairs may change meanwhile: x is that at the beginning of the step.
func (m *Member) Score(k int, x []float32) (s record.Score, due bool, err error) {
	if m.objective == nil || !m.builder.run.Scorer().Due(k) {
		return s, false, nil
	}
	if m.Pair() == nil {
		x = m.machine.Params()
	}
	id := m.builder.rank
	got, err := m.builder.run.Scorer().Own(id, m.objective, x, score.Sample, nil)
	return record.Score{Rank: int(id), Round: k, Loss: got.Loss, Accuracy: got.Accuracy}, true, err
}

// Step completes the record of round k, see work.Task.Step.
func (m *Member) Step(measured record.Step) record.Step {
	bits, _ := m.builder.bits()
	task := work.Task{Rank: m.builder.rank, Machine: m.machine, Recording: work.Recording{
		Parameters: m.builder.run.Parameters(), Theta: thetaOf(m.builder.run, m.machine), Bits: bits}}
	measured.Loss = float64(m.loss)
	return task.Step(measured)
}

// Final completes the result of the member after its last round, with the score of its replica, unless a program has
// the objective.
func (m *Member) Final(measured record.Final) (record.Final, error) {
	task := work.Task{Rank: m.builder.rank, Machine: m.machine}
	f := task.Final(measured)
	f.Theta = m.builder.bounds(m.machine, thetaOf(m.builder.run, m.machine), f.Rounds)
	_, mean := m.builder.bits()
	f.Bits = mean()
	if m.objective == nil {
		return f, nil
	}
	s, err := m.Test()
	f.Loss, f.Accuracy = s.Loss, s.Accuracy
	return f, err
}

// Test scores the replica after its last round, once. Any goroutine may call it then. A member whose program has the
// objective has no score.
func (m *Member) Test() (model.Score, error) {
	m.test.Do(func() {
		if m.tested = (model.Score{Loss: math.NaN(), Accuracy: math.NaN()}); m.objective != nil {
			m.tested, m.failed = m.builder.run.Scorer().Own(m.builder.rank, m.objective, m.machine.Params(), score.All, nil)
		}
	})
	return m.tested, m.failed
}

// Model returns the replica as it is now, in the memory of the member.
func (m *Member) Model() score.InMemoryModel {
	own := score.InMemoryModel{X: m.machine.Params()}
	if m.objective != nil {
		own.Statistics = score.Statistics(m.objective)
	}
	return own
}

// Save enters the state of the oracle, and of the control of theta where each worker has its own.
func (m *Member) Save(s *state.Snapshot) {
	s.Save("oracle", m.oracle)
	if m.control != nil {
		s.Save("theta", m.control)
	}
}
