package experiment

import (
	"fmt"
	"math"
	"sync"

	"gossiptrainer/data"
	"gossiptrainer/model"
	"gossiptrainer/train"
)

// A scorer evaluates models: on the test split, or, for an objective without
// data, by the global objective f = (1/n) Σ f_i.
type scorer struct {
	run   *Run
	fresh func() ([]model.Objective, error) // of no worker, or of all without data

	mu sync.Mutex // fresh objectives have one scratch memory
}

func newScorer(r *Run) *scorer {
	return &scorer{run: r, fresh: sync.OnceValues(func() ([]model.Objective, error) {
		n := 1
		if r.data == nil {
			n = r.N()
		}
		objectives := make([]model.Objective, n)
		for i := range objectives {
			m, err := model.New(r.modelSpec(i, r.cfg.Train.Batch))
			if err != nil {
				return nil, err
			}
			objectives[i] = m
		}
		return objectives, nil
	})}
}

// Evaluate scores a model that is no worker's, like the mean of all, on the
// test split; for an objective without data it returns the mean over the
// workers' objectives.
func (r *Run) Evaluate(x []float32) (model.Score, error) {
	if len(x) != r.dim {
		return model.Score{}, fmt.Errorf("experiment: evaluate: a model of %d parameters, want %d", len(x), r.dim)
	}
	s := r.scorer
	s.mu.Lock()
	defer s.mu.Unlock()
	objectives, err := s.fresh()
	if err != nil {
		return model.Score{}, fmt.Errorf("experiment: evaluate: %w", err)
	}
	if r.data != nil {
		return s.score(objectives[0], x)
	}
	total := model.Score{Accuracy: math.NaN()}
	for _, f := range objectives {
		total.Loss += f.Evaluate(x, data.Batch{}).Loss / float64(len(objectives))
	}
	return total, nil
}

// own scores x with a worker's objective, whose running statistics count.
func (s *scorer) own(objective model.Objective, x []float32) (model.Score, error) {
	if s.run.data == nil {
		return s.run.Evaluate(x)
	}
	return s.score(objective, x)
}

func (s *scorer) score(objective model.Objective, x []float32) (model.Score, error) {
	test, err := s.run.data.test()
	if err != nil {
		return model.Score{}, fmt.Errorf("experiment: evaluate: %w", err)
	}
	evaluator, err := train.NewEvaluator(objective, test, s.run.cfg.Train.Batch)
	if err != nil {
		return model.Score{}, fmt.Errorf("experiment: evaluate: %w", err)
	}
	return evaluator.Score(x), nil
}
