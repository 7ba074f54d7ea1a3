package experiment

import (
	"fmt"

	"gossiptrainer/internal/data"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/state"
	"gossiptrainer/internal/train"
	"gossiptrainer/internal/work"
	"gossiptrainer/model"
	"gossiptrainer/topology"
)

// A Worker is one worker of a run at the beginning of a round: the task for its
// driver, and what only the run can say of its results.
type Worker struct {
	work.Task
	// MeanBits returns the mean of the bits per parameter so far.
	MeanBits func() float64
	// Bound returns what became of the modulo codec's bound, at the end of some
	// rounds.
	Bound func(rounds int) record.Theta
	// Evaluate scores x on the test split, with this worker's running
	// statistics where the model has them. It must not be called while
	// Gradient is. It tells watch, which may be nil, how many samples are done, of how many.
	Evaluate func(x []float32, watch func(done, all int)) (model.Score, error)

	again func(s *state.Snapshot) (*Worker, error)
}

// Again returns this worker anew, as it is when it begins where s was saved; nil is the
// beginning. It reads no samples. Only one of Workers can be had again.
func (w *Worker) Again(s *state.Snapshot) (*Worker, error) { return w.again(s) }

// Tasks returns the tasks of workers, for a driver that runs them all.
func Tasks(workers []*Worker) []work.Task {
	tasks := make([]work.Task, len(workers))
	for i, w := range workers {
		tasks[i] = w.Task
	}
	return tasks
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
		if workers[i], err = own.again(topology.Rank(i), shards[i], nil); err != nil {
			return nil, err
		}
	}
	return workers, nil
}

// again is worker for one that can be had again.
func (r *Run) again(rank topology.Rank, shard data.Set, s *state.Snapshot) (*Worker, error) {
	w, err := r.worker(rank, shard, s)
	if err != nil {
		return nil, err
	}
	w.again = func(s *state.Snapshot) (*Worker, error) { return r.again(rank, shard, s) }
	return w, nil
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
	w.Save = func(s *state.Snapshot) {
		s.Begin()
		s.Save("machine", w.Machine)
		s.Save("oracle", oracle)
	}
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
		Task: work.Task{
			Rank: rank, Row: r.rows[rank], Closing: r.Closing(rank), Machine: machine, Rounds: r.cfg.Train.Rounds,
			Asynchronous: r.Asynchronous(), MaxPayload: r.payload(), Entropy: r.coder, Layout: layout,
			Recording: work.Recording{Every: r.cfg.Output.Every, Parameters: r.Parameters(), Theta: theta, Bits: bits},
		},
		MeanBits: mean,
		Bound:    func(rounds int) record.Theta { return r.bounds(rank, machine, theta, rounds) },
	}, nil
}
