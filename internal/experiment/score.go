package experiment

import (
	"errors"
	"fmt"
	"sync"

	"gossiptrainer/internal/data"
	"gossiptrainer/internal/train"
	"gossiptrainer/model"
	"gossiptrainer/topology"
)

// A scorer evaluates models: on the test split, or, for an objective without
// data, by the global objective f = (1/n) Σ f_i.
type scorer struct {
	run   *Run
	fresh func() (model.Objective, error)      // belongs to no worker
	mean  func() (*model.MeanQuadratic, error) // where there are no data

	mu sync.Mutex // the fresh objective has one scratch memory
}

func newScorer(r *Run) *scorer {
	return &scorer{
		run: r,
		fresh: sync.OnceValues(func() (model.Objective, error) {
			return model.New(r.modelSpec(0, r.cfg.Train.Batch))
		}),
		mean: sync.OnceValues(func() (*model.MeanQuadratic, error) {
			return model.NewMeanQuadratic(r.modelSpec(0, 1), r.N())
		}),
	}
}

// Evaluate scores a model that belongs to no single worker, like the mean of all replicas. It uses the test split, or
// the splits of all workers that have their own. For an objective without data it returns the mean over the workers'
// objectives.
func (r *Run) Evaluate(x []float32) (model.Score, error) { return r.watched(x, nil) }

// watched is Evaluate with progress: it tells watch how many samples of how many are done.
func (r *Run) watched(x []float32, watch func(done, all int)) (model.Score, error) {
	if len(x) != r.dim {
		return model.Score{}, fmt.Errorf("experiment: evaluate: a model of %d parameters, want %d", len(x), r.dim)
	}
	s := r.scorer
	if r.cfg.External() {
		return model.Score{}, errors.New("experiment: evaluate: the script of an external model evaluates it")
	}
	if r.data == nil {
		mean, err := s.mean()
		if err != nil {
			return model.Score{}, fmt.Errorf("experiment: evaluate: %w", err)
		}
		return mean.Evaluate(x), nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	objective, err := s.fresh()
	if err != nil {
		return model.Score{}, fmt.Errorf("experiment: evaluate: %w", err)
	}
	return s.score(objective, x, r.data.common, watch)
}

// own scores x with a worker's objective and its running statistics, on its test rows.
func (s *scorer) own(rank topology.Rank, f model.Objective, x []float32, watch func(done, all int)) (model.Score,
	error) {
	if s.run.data == nil {
		return s.run.Evaluate(x)
	}
	d := s.run.data
	return s.score(f, x, d.tests[d.of(rank)], watch)
}

func (s *scorer) score(
	objective model.Objective, x []float32, rows func() (data.Set, error), watch func(done, all int),
) (model.Score, error) {
	test, err := rows()
	if err != nil {
		return model.Score{}, fmt.Errorf("experiment: evaluate: %w", err)
	}
	chosen := train.Spread(test, s.run.cfg.Output.EvaluateSamples)
	evaluator, err := train.NewEvaluator(objective, chosen, s.run.cfg.Train.Batch)
	if err != nil {
		return model.Score{}, fmt.Errorf("experiment: evaluate: %w", err)
	}
	evaluator.Watch = watch
	return evaluator.Score(x), nil
}
