package build

import (
	"errors"
	"fmt"

	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/train"
	"gossiptrainer/internal/work"
)

// The script of an external model takes the local steps: from x it goes to some y, with whatever optimizer it has.
// Algorithms get g = x − y as the update direction and have the step size 1. So the update y − x takes the place of
// −α_k times a gradient.

// external builds the worker of a program. It starts where the program does, or from the saved state s.
func (b *builder) external(s *state.Snapshot) (*Worker, error) {
	x, err := b.origin(s)
	if err != nil {
		return nil, err
	}
	oracle, err := b.outside()
	if err != nil {
		return nil, err
	}
	return b.trained(x, oracle, s)
}

// origin returns where the worker of a program starts, unless the saved state s says it.
func (b *builder) origin(s *state.Snapshot) ([]float32, error) {
	if b.run.Program() == nil {
		return nil, experiment.CheckInside(b.run.Config())
	}
	x := b.run.Program().Start
	switch {
	case b.run.Dim() == 0:
		return nil, errors.New("internal error: build: an external model without an outline")
	case x == nil && s != nil:
		x = make([]float32, b.run.Dim())
	case len(x) != b.run.Dim():
		return nil, fmt.Errorf("the script starts with %d elements, but its tensors have %d", len(x), b.run.Dim())
	}
	return x, nil
}

// outside returns the oracle of a program's updates.
func (b *builder) outside() (*train.Oracle, error) {
	return train.NewExternal(int(b.rank), train.Gradient(b.run.Program().Gradient),
		train.Rule{Bound: experiment.UpdateBound(b.run), Exact: b.run.Exact()})
}

// Change returns the change of w, a worker of another outline, to a worker of r from a round on. By start it makes the
// new vector of the old one. Then w has the figures of the new worker. An error says why the run cannot have the
// outline.
func Change(r *experiment.Run, w *Worker, from int, start func(x []float32) ([]float32, error)) (*work.Change, error) {
	heir := func(x []float32) (*Worker, error) {
		return New(r.Programmed(experiment.Program{Start: x, Gradient: noGradient, Heir: true}), w.Rank, nil)
	}
	trial, err := heir(make([]float32, r.Dim()))
	if err != nil {
		return nil, err
	}
	return &work.Change{From: from, MaxPayload: trial.MaxPayload, Next: func(x []float32) (*work.Task, error) {
		x, err := start(x)
		if err != nil {
			return nil, err
		}
		next, err := heir(x)
		if err != nil {
			return nil, err
		}
		w.later.oracle.Succeed(next.later.oracle)
		w.MeanBits, w.Bound = next.MeanBits, next.Bound
		return next.Task, nil
	}}, nil
}

// noGradient stands for that of a program in an heir, which takes none.
func noGradient([]float32, int, []float32) (float32, error) {
	return 0, errors.New("internal error: build: a gradient of an heir")
}
