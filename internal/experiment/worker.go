package experiment

import (
	"fmt"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/state"
	"gossiptrainer/internal/train"
	"gossiptrainer/model"
	"gossiptrainer/quant"
	"gossiptrainer/topology"
)

// A Worker is one worker of a run at the beginning of round 0, for a driver.
type Worker struct {
	Rank topology.Rank
	Row  topology.Row
	// Closing says who takes the place of a neighbour that is lost; nil: nobody.
	Closing *topology.Closing
	Machine gossip.Machine
	// Gradient writes the update direction of round k at x into g and returns
	// the loss of the mini-batch.
	Gradient func(g []float32, k int, x []float32) (loss float32, err error)
	// Theta is the bound of the modulo codec by round, nil without one.
	Theta func(k int) float64
	// Bits are those per parameter of the messages of round k, and MeanBits their
	// mean so far.
	Bits     func(k int) int
	MeanBits func() float64
	// Bound returns what became of the modulo codec's bound, at the end of some
	// rounds.
	Bound func(rounds int) record.Theta
	// MaxPayload is the largest number of bytes that a message of the run has.
	MaxPayload int
	// Layout says how the payload of a frame is cut.
	Layout func(f gossip.Frame) quant.Layout
	// Evaluate scores x on the test split, with this worker's running
	// statistics where the model has them. It must not be called while
	// Gradient is. It tells watch, which may be nil, how many samples are done, of how many.
	Evaluate func(x []float32, watch func(done, all int)) (model.Score, error)

	oracle *train.Oracle
}

// Save makes s the state of the worker. It may be called where the machine calls
// the hook of AtBoundary, and before the first round.
func (w *Worker) Save(s *state.Snapshot) {
	s.Begin()
	s.Save("machine", w.Machine)
	s.Save("oracle", w.oracle)
}

// Worker builds one worker. It reads no samples but those of its shard: this is
// for a process per worker.
func (r *Run) Worker(rank topology.Rank) (*Worker, error) { return r.Resume(rank, nil) }

// Resume is Worker for one that begins where s was saved; nil is the beginning. It
// fails if s is not the state of such a worker.
func (r *Run) Resume(rank topology.Rank, s *state.Snapshot) (*Worker, error) {
	if err := r.checkRank(rank); err != nil {
		return nil, err
	}
	var shard data.Set
	if r.data != nil {
		var err error
		if shard, err = r.data.shard(rank); err != nil {
			return nil, fmt.Errorf("experiment: worker %d: %w", rank, err)
		}
	}
	return r.worker(rank, shard, s)
}

// Workers builds all workers. It reads the data once: this is for all workers
// in one process.
func (r *Run) Workers() ([]*Worker, error) {
	shards := make([]data.Set, r.N())
	if r.data != nil {
		var err error
		if shards, err = r.data.shards(r.N()); err != nil {
			return nil, fmt.Errorf("experiment: %w", err)
		}
	}
	workers, own := make([]*Worker, r.N()), r.audited()
	for i := range workers {
		var err error
		if workers[i], err = own.worker(topology.Rank(i), shards[i], nil); err != nil {
			return nil, err
		}
	}
	return workers, nil
}

func (r *Run) worker(rank topology.Rank, shard data.Set, s *state.Snapshot) (*Worker, error) {
	w, err := r.buildWorker(rank, shard, s)
	if err != nil {
		return nil, fmt.Errorf("experiment: worker %d: %w", rank, err)
	}
	return w, nil
}

func (r *Run) buildWorker(rank topology.Rank, shard data.Set, s *state.Snapshot) (*Worker, error) {
	objective, err := model.New(r.modelSpec(int(rank), r.cfg.Train.Batch))
	if err != nil {
		return nil, err
	}
	batches := train.NoData
	if r.data != nil {
		sampler, err := data.NewSampler(r.cfg.Seed, int(rank), shard.Len(), r.cfg.Train.Batch)
		if err != nil {
			return nil, err
		}
		batches = train.FromShard(shard, sampler)
	}
	oracle, err := train.NewOracle(int(rank), objective, batches, train.Rule{
		Momentum: r.cfg.Train.Momentum, WeightDecay: r.cfg.Train.WeightDecay, Bound: r.bound,
	})
	if err != nil {
		return nil, err
	}
	if s != nil {
		if err := s.Load("oracle", oracle); err != nil {
			return nil, err
		}
	}
	x := make([]float32, r.dim)
	objective.Init(x, r.cfg.Seed)
	w, err := r.body(rank, x, s)
	if err != nil {
		return nil, err
	}
	w.oracle = oracle
	w.Gradient = func(g []float32, k int, x []float32) (float32, error) {
		loss, err := oracle.Gradient(g, k, x)
		if err != nil {
			err = r.Diverged(err)
		}
		return loss, err
	}
	w.Evaluate = func(x []float32, watch func(done, all int)) (model.Score, error) {
		return r.scorer.own(rank, objective, x, watch)
	}
	return w, nil
}

// body builds a worker that begins at x, or where s was saved, and has nothing to
// take gradients with.
func (r *Run) body(rank topology.Rank, x []float32, s *state.Snapshot) (*Worker, error) {
	own, err := r.agreeing(rank)
	if err != nil {
		return nil, err
	}
	machine, err := own.machine(rank, x, s)
	if err != nil {
		return nil, err
	}
	layout, err := r.layouts(rank, machine)
	if err != nil {
		return nil, err
	}
	theta := r.thetaOf(machine)
	bits, mean := own.bits()
	return &Worker{
		Rank: rank, Row: r.rows[rank], Closing: r.Closing(rank), Machine: machine, Bits: bits, MeanBits: mean, Theta: theta,
		Bound: func(rounds int) record.Theta { return r.bounds(rank, machine, theta, rounds) }, MaxPayload: r.payload(), Layout: layout,
	}, nil
}
