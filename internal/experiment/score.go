package experiment

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/cores"
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
// objectives. It fails for a model with running statistics, see ScoreModel.
func (r *Run) Evaluate(x []float32) (model.Score, error) { return r.ScoreModel(x, nil, nil) }

// ScoreModel is Evaluate of a model with running statistics. It tells watch how many samples of how many are done,
// unless it is nil.
func (r *Run) ScoreModel(x, statistics []float32, watch func(done, all int)) (model.Score, error) {
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
	if err := setStatistics(objective, statistics); err != nil {
		return model.Score{}, fmt.Errorf("experiment: evaluate: %w", err)
	}
	return s.score(objective, x, r.data.Tests, watch)
}

// own scores x with a worker's objective and its running statistics, on its test rows.
func (s *scorer) own(rank topology.Rank, f model.Objective, x []float32, watch func(done, all int)) (model.Score,
	error) {
	if s.run.data == nil {
		return s.run.Evaluate(x)
	}
	return s.score(f, x, func() (data.Set, error) { return s.run.data.Test(rank) }, watch)
}

// score scores x on the chosen rows of a test set, with all cores that the process has for itself. The scores of
// batches are added in the order of the set, so the number of cores changes no bit.
func (s *scorer) score(
	objective model.Objective, x []float32, rows func() (data.Set, error), watch func(done, all int),
) (model.Score, error) {
	test, err := rows()
	if err != nil {
		return model.Score{}, fmt.Errorf("experiment: evaluate: %w", err)
	}
	chosen := train.Spread(test, s.run.cfg.Output.EvaluateSamples)
	evaluators, err := s.evaluators(objective, chosen)
	if err != nil {
		return model.Score{}, fmt.Errorf("experiment: evaluate: %w", err)
	}
	if len(evaluators) == 1 {
		evaluators[0].Watch = watch
		return evaluators[0].Score(x), nil
	}
	scores := make([]model.Score, evaluators[0].Batches())
	var samples atomic.Int64
	cores.Do(len(evaluators), len(scores), func(lane, i int) {
		scores[i] = evaluators[lane].Batch(x, i)
		done := samples.Add(int64(scores[i].Samples))
		if lane == 0 && watch != nil {
			watch(int(done), chosen.Len())
		}
	})
	if watch != nil {
		watch(chosen.Len(), chosen.Len())
	}
	var total train.Total
	for _, one := range scores {
		total.Add(one)
	}
	return total.Score(), nil
}

// evaluators returns an evaluator for each core that can help. The first has the objective itself, the others one like
// it, with its running statistics.
func (s *scorer) evaluators(objective model.Objective, set train.Set) ([]*train.Evaluator, error) {
	size := s.run.cfg.Train.Batch
	first, err := train.NewEvaluator(objective, set, size)
	if err != nil {
		return nil, err
	}
	all := []*train.Evaluator{first}
	for lanes := min(s.run.lanes(cores.Free()), first.Batches()/leastBatches); len(all) < lanes; {
		another, err := model.New(s.run.modelSpec(0, size))
		if err != nil {
			return nil, err
		}
		if err := copyState(another, objective); err != nil {
			return nil, err
		}
		e, err := train.NewEvaluator(another, set, size)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

// copyState gives an objective the running statistics of another one like it, bit for bit: Statistics rounds them.
func copyState(to, from model.Objective) error {
	source, ok := from.(state.Keeper)
	if !ok {
		return nil
	}
	var s state.Snapshot
	s.Save("objective", source)
	return s.Load("objective", to.(state.Keeper))
}

const (
	// leastBatches is how many batches a core evaluates at least. For fewer, its memory is not worth making.
	leastBatches = 4
	// sparedMemory bounds the memory of the cores that help, unless half of the model is more.
	sparedMemory = 64 << 20
)

// lanes returns how many of the cores evaluate a model at the same time. Each but the first needs the memory of a batch
// between the layers of the model.
func (r *Run) lanes(cores int) int {
	room, each := max(sparedMemory, floatBytes*int64(r.dim)/2), r.activations()
	return 1 + int(min(int64(cores-1), room/max(1, each)))
}

// activations returns the bytes of the values of a batch between layers, and of packed weights.
func (r *Run) activations() int64 {
	return floatBytes * (int64(r.cfg.Train.Batch)*int64(r.sample) + int64(r.packed))
}
