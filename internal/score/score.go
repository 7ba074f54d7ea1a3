// Package score evaluates models: those of single workers, the mean of all, on test rows or by the global objective. It
// also averages the models of a run.
package score

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/machine"
	"gossiptrainer/internal/shards"
	"gossiptrainer/internal/train"
	"gossiptrainer/model"
	"gossiptrainer/topology"
)

// A Scorer evaluates the models of a run: on the test split, or, for an objective without data, by the global objective
// f = (1/n) Σ f_i. Several goroutines may call its methods.
type Scorer struct {
	Setup
	fresh func() (model.Objective, error)      // belongs to no worker
	mean  func() (*model.MeanQuadratic, error) // where there are no data
	rows  testRows

	mu sync.Mutex // the fresh objective has one scratch memory
}

// A Setup says what a Scorer evaluates.
type Setup struct {
	Data    *shards.Dataset
	Spec    func(batch int) model.Spec // of an objective that belongs to no worker
	Workers int
	Dim     int   // parameters of a model
	Batch   int   // samples
	Most    int   // test rows that are used; 0: all
	Sampled int   // test rows that score a replica while the run goes on; 0: Most
	Every   int   // rounds between two evaluations while a run goes on; 0: none
	Means   bool  // the mean of models is a model
	Scripts bool  // the script of an external model evaluates it
	Memory  int64 // bytes of the values of a batch between layers, and of packed weights
}

// New returns the scorer of a run.
func New(s Setup) *Scorer {
	return &Scorer{
		Setup: s,
		fresh: sync.OnceValues(func() (model.Objective, error) { return model.New(s.Spec(s.Batch)) }),
		mean: sync.OnceValues(func() (*model.MeanQuadratic, error) {
			return model.NewMeanQuadratic(s.Spec(1), s.Workers)
		}),
	}
}

// Due reports whether models are evaluated after k rounds: where Every divides k. The end of the run does not count,
// because results are evaluated anyway. The script of an external model evaluates it when it likes.
func (s *Scorer) Due(k int) bool { return s.Scores() && k > 0 && k%s.Every == 0 }

// Scores reports whether models are evaluated after some rounds.
func (s *Scorer) Scores() bool { return s.Every > 0 && !s.Scripts }

// Evaluate scores a model that belongs to no single worker, like the mean of all replicas. It uses the test split, or
// the splits of all workers that have their own. For an objective without data it returns the mean over the workers'
// objectives. It fails for a model with running statistics, see Score.
func (s *Scorer) Evaluate(x []float32) (model.Score, error) {
	score, _, err := s.Score(x, nil, nil)
	return score, err
}

// Score is Evaluate of a model with running statistics. It tells watch how many samples of how many are done,
// unless it is nil. Where there are classes, it returns how many samples of each the model takes for each. The first
// index is the class of the sample, the second the class that the model finds likeliest.
func (s *Scorer) Score(x, statistics []float32, watch func(done, all int)) (
	score model.Score, counts [][]int, err error,
) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("evaluate: %w", err)
		}
	}()
	if len(x) != s.Dim {
		return score, nil, fmt.Errorf("a model of %d parameters, want %d", len(x), s.Dim)
	}
	if s.Scripts {
		return score, nil, errors.New("the script of an external model evaluates it")
	}
	if s.Data == nil {
		mean, err := s.mean()
		if err != nil {
			return score, nil, err
		}
		return mean.Evaluate(x), nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	objective, err := s.fresh()
	if err != nil {
		return score, nil, err
	}
	if err := SetStatistics(objective, statistics); err != nil {
		return score, nil, err
	}
	tests, err := s.Data.Tests()
	if err != nil {
		return score, nil, err
	}
	if _, ok := objective.(model.Classifier); ok && len(s.Data.Info().Classes) > 1 {
		counts = square(len(s.Data.Info().Classes))
	}
	score, err = s.score(objective, x, s.rows.of(tests, s.most(All)), counts, watch)
	return score, counts, err
}

// square returns n·n zeros.
func square(n int) [][]int {
	all := make([][]int, n)
	for i := range all {
		all[i] = make([]int, n)
	}
	return all
}

// Rows says which test rows score a replica.
type Rows bool

// Rows of a replica.
const (
	All    Rows = true  // that the run uses: for final models
	Sample Rows = false // few of them, for a curve: scores of all replicas must not take longer than their training
)

// most returns how many rows are used, 0 for all.
func (s *Scorer) most(rows Rows) int {
	if rows == All || s.Sampled == 0 || s.Most > 0 && s.Most < s.Sampled {
		return s.Most
	}
	return s.Sampled
}

// Own scores x with a worker's objective and its running statistics, on its test rows.
func (s *Scorer) Own(rank topology.Rank, f model.Objective, x []float32, rows Rows, watch func(done, all int)) (
	model.Score, error) {
	if s.Data == nil {
		return s.Evaluate(x)
	}
	test, err := s.Data.Test(rank)
	if err != nil {
		return model.Score{}, fmt.Errorf("evaluate: %w", err)
	}
	score, err := s.score(f, x, s.rows.of(test, s.most(rows)), nil, watch)
	if err != nil {
		return score, fmt.Errorf("evaluate: %w", err)
	}
	return score, nil
}

// score scores x on test rows, with all cores that the process has for itself. The scores of batches are added in the
// order of the rows, so the number of cores changes no bit. Counts, unless it is nil, is that of Score.
func (s *Scorer) score(
	objective model.Objective, x []float32, chosen train.Set, counts [][]int, watch func(done, all int),
) (model.Score, error) {
	evaluators, err := s.evaluators(objective, chosen)
	if err != nil {
		return model.Score{}, err
	}
	for _, e := range evaluators {
		e.Hold()
		defer e.Release()
	}
	evaluators[0].Counts = counts
	if len(evaluators) == 1 {
		evaluators[0].Watch = watch
		return evaluators[0].Score(x), nil
	}
	if counts != nil {
		for _, e := range evaluators[1:] {
			e.Counts = square(len(counts))
		}
	}
	scores := make([]model.Score, evaluators[0].Batches())
	var samples atomic.Int64
	machine.Do(len(evaluators), len(scores), func(lane, i int) {
		scores[i] = evaluators[lane].Batch(x, i)
		done := samples.Add(int64(scores[i].Samples))
		if lane == 0 && watch != nil {
			watch(int(done), chosen.Len())
		}
	})
	if watch != nil {
		watch(chosen.Len(), chosen.Len())
	}
	for _, e := range evaluators[1:] {
		for i, row := range e.Counts {
			for j, n := range row {
				counts[i][j] += n
			}
		}
	}
	var total train.Total
	for _, one := range scores {
		total.Add(one)
	}
	return total.Score(), nil
}

// evaluators returns an evaluator for each core that can help. The first has the objective itself, the others one like
// it, with its running statistics.
func (s *Scorer) evaluators(objective model.Objective, set train.Set) ([]*train.Evaluator, error) {
	size := s.Batch
	first, err := train.NewEvaluator(objective, set, size)
	if err != nil {
		return nil, err
	}
	all := []*train.Evaluator{first}
	for lanes := min(s.Lanes(machine.FreeCores()), first.Batches()/leastBatches); len(all) < lanes; {
		another, err := model.New(s.Spec(size))
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

// Lanes returns how many of the cores evaluate a model at the same time. Each but the first needs the memory of a batch
// between the layers of the model.
func (s *Scorer) Lanes(cores int) int {
	room, each := max(sparedMemory, floatBytes*int64(s.Dim)/2), s.Memory
	return 1 + int(min(int64(cores-1), room/max(1, each)))
}

const floatBytes = 4

// Statistics returns the running statistics of an objective.
func Statistics(f model.Objective) []float32 {
	if c, ok := f.(model.Carrier); ok {
		return c.Statistics()
	}
	return nil
}

// SetStatistics gives an objective its running statistics, if it has some.
func SetStatistics(f model.Objective, s []float32) error {
	c, ok := f.(model.Carrier)
	if !ok {
		return nil
	}
	return c.SetStatistics(s)
}
