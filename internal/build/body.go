// Package build makes the workers of a run: each with its machine, codecs, gradient oracle and scores. It runs none:
// packages internal/sim and node drive the machines.
package build

import (
	"gossiptrainer/algos"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/score"
	"gossiptrainer/internal/train"
	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/internal/work"
	"gossiptrainer/model"
)

// A Worker is one worker of a run at the beginning of a round: the task for its driver, and figures about its results.
type Worker struct {
	*work.Task
	// MeanBits returns the mean of the bits per parameter so far.
	MeanBits func() float64
	// Bound returns the modulo codec's bound after some rounds, with its violations and repairs.
	Bound func(rounds int) record.Theta
	// Evaluate scores x on the test split, with this worker's running statistics where the model has them. It must not
	// be called during Gradient. It tells watch, which may be nil, how many samples of how many are done. Nil for an
	// external model: loss and accuracy are then what its program says.
	Evaluate func(x []float32, watch func(done, all int)) (model.Score, error)

	later later
}

// later is what its builder leaves for later.
type later struct {
	again  func(s *state.Snapshot) (*Worker, error)
	oracle *train.Oracle // nil: it takes no gradients
	scorer *score.Scorer
	score  scoring // nil for an external model
	// statistics returns those with which score scores, none where the model has none. Nil for an external model.
	statistics func() []float32
	shared     bool       // other runs take its gradients, too
	models     algos.Rows // of the first worker: where the models of all begin
}

// A scoring is Evaluate on chosen rows.
type scoring func(x []float32, rows score.Rows, watch func(done, all int)) (model.Score, error)

// Restart returns this worker once more, from the saved state s; nil is the beginning. It reads no samples. Only a
// worker from Workers supports it.
func (w *Worker) Restart(s *state.Snapshot) (*Worker, error) { return w.later.again(s) }

// evaluate scores x on all test rows that the run uses.
func (w *Worker) evaluate(x []float32, watch func(done, all int)) (model.Score, error) {
	return w.later.score(x, score.All, watch)
}

// Model returns the replica as it is now, in the memory of the worker.
func (w *Worker) Model() score.InMemoryModel {
	m := score.InMemoryModel{X: w.Machine.Params()}
	if w.later.statistics != nil {
		m.Statistics = w.later.statistics()
	}
	return m
}

// Tasks returns the tasks of workers, for a driver that runs all of them.
func Tasks(workers []*Worker) []work.Task {
	tasks := make([]work.Task, len(workers))
	for i, w := range workers {
		tasks[i] = *w.Task
	}
	return tasks
}

// Models returns the rows in which the models of all workers of a run begin, none where they have memory of their own.
func Models(workers []*Worker) algos.Rows { return workers[0].later.models }

// Stacked takes the gradients of all workers of a run at once, see sim.Options.
func Stacked(workers []*Worker) func(k int, s algos.Stacked) bool {
	oracles := make([]*train.Oracle, len(workers))
	for i, w := range workers {
		if oracles[i] = w.later.oracle; w.later.shared || oracles[i] == nil {
			return nil
		}
	}
	stack := train.NewStack(oracles)
	if stack == nil {
		return nil
	}
	return func(k int, s algos.Stacked) bool { return !workers[0].later.scorer.Due(k) && stack.Gradients(s) }
}

// trained builds a worker with an oracle. It starts at x, or from the saved state s.
func (b *builder) trained(x []float32, oracle *train.Oracle, s *state.Snapshot) (*Worker, error) {
	if s != nil {
		if err := s.Load("oracle", oracle); err != nil {
			return nil, err
		}
	}
	w, err := b.body(x, s)
	if err != nil {
		return nil, err
	}
	w.later.oracle = oracle
	w.Save = func(s *state.Snapshot) {
		s.Begin()
		s.Save("machine", w.Machine)
		s.Save("oracle", w.later.oracle)
	}
	if b.method.Reads {
		w.Momentum = oracle.Momentum()
	}
	w.Gradient = func(g []float32, k int, x []float32) (float32, error) {
		loss, err := oracle.Gradient(g, k, x)
		if err != nil {
			err = b.run.Diverged(err)
		}
		return loss, err
	}
	return w, nil
}

// body builds a worker without a gradient oracle. It starts at x, or from the saved state s.
func (b *builder) body(x []float32, s *state.Snapshot) (*Worker, error) {
	cfg := b.run.Config()
	machine, err := b.machine(x, s)
	if err != nil {
		return nil, err
	}
	layout, err := b.layouts(machine)
	if err != nil {
		return nil, err
	}
	coder, err := entropy.Parse(cfg.Wire.Entropy)
	if err != nil {
		return nil, err
	}
	theta := thetaOf(b.run, machine)
	bits, mean := b.bits()
	return &Worker{
		Task: &work.Task{
			Rank: b.rank, Rows: b.rows, Closing: b.run.Closing(b.rank), Machine: machine, Rounds: int(cfg.Train.Rounds),
			Asynchronous: b.method.Asynchronous(), MaxPayload: b.frame(machine),
			Coding:    work.Coding{Entropy: coder, Layout: layout, Still: b.still(), Span: b.spans(machine)},
			Recording: work.Recording{Every: cfg.Output.Every, Parameters: b.run.Parameters(), Theta: theta, Bits: bits},
		},
		MeanBits: mean,
		later:    later{scorer: b.run.Scorer()},
		Bound:    func(rounds int) record.Theta { return b.bounds(machine, theta, rounds) },
	}, nil
}

// Scored wraps the gradient next of the worker. In every round k with an evaluation it first scores the replica x_k on
// a sample of the test rows, and tells observe. The objective of a worker has one scratch memory, so evaluation and
// gradient follow each other in one goroutine.
func Scored(w *Worker, next work.Gradient, observe func(record.Event)) work.Gradient {
	if !w.later.scorer.Scores() {
		return next
	}
	return func(g []float32, k int, x []float32) (float32, error) {
		if w.later.scorer.Due(k) {
			s, err := w.later.score(x, score.Sample, nil)
			if err != nil {
				return 0, err
			}
			observe(record.Event{Score: &record.Score{
				Rank: int(w.Rank), Round: k, Loss: s.Loss, Accuracy: s.Accuracy,
			}})
		}
		return next(g, k, x)
	}
}
