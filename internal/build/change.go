package build

import (
	"errors"

	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/work"
)

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
		return &next.Task, nil
	}}, nil
}

// noGradient stands for that of a program in an heir, which takes none.
func noGradient([]float32, int, []float32) (float32, error) {
	return 0, errors.New("internal error: build: a gradient of an heir")
}
