package train

import (
	"fmt"
	"slices"

	"gossiptrainer/internal/data"
	"gossiptrainer/model"
	"gossiptrainer/model/sample"
)

// A Set is a list of samples.
type Set interface {
	Len() int
	// Range fills b with the samples from..to−1 and reuses its memory.
	Range(b *sample.Batch, from, to int)
}

var _ Set = data.Set{}

// Spread returns most ≥ 1 samples of a set, or all if it has no more or most is 0. Of n samples it takes ⌊i·n/most⌋ for
// i = 0..most−1. So all models are scored on the same samples, and those of a sorted set are of all classes.
func Spread(set data.Set, most int) Set {
	n := set.Len()
	if most == 0 || n <= most {
		return set
	}
	s := &spread{set: set, rows: make([]int, most)}
	for i := range s.rows {
		s.rows[i] = int(uint64(i) * uint64(n) / uint64(most))
	}
	return s
}

// A spread is a part of a set.
type spread struct {
	set  data.Set
	rows []int
}

func (s *spread) Len() int { return len(s.rows) }

func (s *spread) Range(b *sample.Batch, from, to int) { s.set.Gather(b, s.rows[from:to]) }

// Decoded returns the samples of a set as models see them, in memory.
func Decoded(set Set) Set {
	r := new(decoded)
	set.Range(&r.batch, 0, set.Len())
	return r
}

// A decoded set is in memory.
type decoded struct{ batch sample.Batch }

func (r *decoded) Len() int { return r.batch.Len() }

// Range lets b be a part of the set, which is read-only.
func (r *decoded) Range(b *sample.Batch, from, to int) {
	f := len(r.batch.X) / r.batch.Len()
	b.X, b.Y = r.batch.X[from*f:to*f:to*f], r.batch.Y[from:to:to]
}

// An Evaluator scores models on a whole set, a batch at a time. It allocates
// only on its first use and is not safe for concurrent use, neither with itself
// nor with its objective. Several with objectives of their own may share a set: each
// scores some of the batches, and Total joins the scores.
type Evaluator struct {
	// Watch, if not nil, hears after each batch how many samples of how many are done.
	Watch func(done, all int)

	// Counts, if not nil, says how many samples of each class a model takes for each class. The first index is the class
	// of the sample, the second the class that the model finds likeliest. Batch adds to it, with a model.Classifier.
	Counts [][]int

	objective model.Objective
	set       Set
	size      int
	batch     sample.Batch
	p         []float64
}

// NewEvaluator returns an evaluator that takes size ≥ 1 samples at a time from
// set. With a nil or empty set a model's score is the objective's own value.
func NewEvaluator(f model.Objective, set Set, size int) (*Evaluator, error) {
	if size < 1 {
		return nil, fmt.Errorf("train: evaluate: batch of %d samples: want at least 1", size)
	}
	return &Evaluator{objective: f, set: set, size: size}, nil
}

// Hold says that all models that follow are the same one, until Release.
func (e *Evaluator) Hold() {
	if h, ok := e.objective.(model.Holder); ok {
		h.Hold()
	}
}

// Release says that other models may follow.
func (e *Evaluator) Release() {
	if h, ok := e.objective.(model.Holder); ok {
		h.Release()
	}
}

// Score returns mean loss and accuracy of x over the set.
func (e *Evaluator) Score(x []float32) model.Score {
	if e.Batches() == 0 {
		return e.objective.Evaluate(x, sample.Batch{})
	}
	var total Total
	for i := range e.Batches() {
		total.Add(e.Batch(x, i))
		if e.Watch != nil {
			e.Watch(total.sum.Samples, e.set.Len())
		}
	}
	return total.Score()
}

// Batches returns the number of batches of the set.
func (e *Evaluator) Batches() int {
	if e.set == nil {
		return 0
	}
	return (e.set.Len() + e.size - 1) / e.size
}

// Batch returns mean loss and accuracy of x over batch i.
func (e *Evaluator) Batch(x []float32, i int) model.Score {
	first := i * e.size
	e.set.Range(&e.batch, first, min(first+e.size, e.set.Len()))
	if e.Counts == nil {
		return e.objective.Evaluate(x, e.batch)
	}
	classes := len(e.Counts)
	e.p = slices.Grow(e.p[:0], e.size*classes)[:e.batch.Len()*classes]
	score := e.objective.(model.Classifier).Classify(e.p, x, e.batch)
	for i, y := range e.batch.Y {
		one := e.p[i*classes : (i+1)*classes]
		e.Counts[y][slices.Index(one, slices.Max(one))]++
	}
	return score
}

// A Total joins the scores of batches. The zero value has none.
type Total struct{ sum model.Score }

// Add enters the score of a batch. The order of batches decides how sums are rounded.
func (t *Total) Add(s model.Score) {
	t.sum.Loss += float64(s.Loss * float64(s.Samples))
	t.sum.Accuracy += float64(s.Accuracy * float64(s.Samples))
	t.sum.Samples += s.Samples
}

// Score returns mean loss and accuracy of all batches, at least one.
func (t *Total) Score() model.Score {
	s := t.sum
	s.Loss /= float64(s.Samples)
	s.Accuracy /= float64(s.Samples)
	return s
}
