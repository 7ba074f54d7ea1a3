package train

import (
	"math"
	"slices"
	"testing"

	"gossiptrainer/model"
	"gossiptrainer/model/sample"
)

// view is a Set over one batch of 16 features per sample.
type view sample.Batch

func (v view) Len() int { return len(v.Y) }
func (v view) Range(b *sample.Batch, from, to int) {
	b.X = append(b.X[:0], v.X[16*from:16*to]...)
	b.Y = append(b.Y[:0], v.Y[from:to]...)
}

func newEvaluator(t *testing.T, f model.Objective, set Set, size int) *Evaluator {
	t.Helper()
	e, err := NewEvaluator(f, set, size)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestScoreDoesNotDependOnTheBatchSize(t *testing.T) {
	m, batches := mlp(t)
	x := make([]float32, m.Dim())
	m.Init(x, 1)
	whole := batches(1)
	want := m.Evaluate(x, whole)
	for _, size := range []int{1, 3, 8, 100} {
		got := newEvaluator(t, m, view(whole), size).Score(x)
		if got.Samples != 8 || got.Accuracy != want.Accuracy || math.Abs(got.Loss-want.Loss) > 1e-12 {
			t.Errorf("%d at a time: %+v, at once %+v", size, got, want)
		}
	}
}

// Every model is scored on the same samples: 7 of 20 are those at 20i/7.
func TestSomeSamplesAreSpreadOverTheSet(t *testing.T) {
	set := glyphs(t, 20)
	var got, want sample.Batch
	some := Spread(set, 7)
	some.Range(&got, 1, 6)
	set.Gather(&want, []int{2, 5, 8, 11, 14})
	if some.Len() != 7 || !slices.Equal(got.Y, want.Y) || !slices.Equal(got.X, want.X) {
		t.Errorf("%d samples, 1 to 5 have the labels %v, want 7 and %v", some.Len(), got.Y, want.Y)
	}
	for _, most := range []int{0, 20, 21} {
		if n := Spread(set, most).Len(); n != 20 {
			t.Errorf("at most %d of 20: %d samples, want all", most, n)
		}
	}
}

func TestScoreAllocatesNothingAfterTheFirst(t *testing.T) {
	m, batches := mlp(t)
	x := make([]float32, m.Dim())
	e := newEvaluator(t, m, view(batches(1)), 3)
	if n := testing.AllocsPerRun(5, func() { e.Score(x) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func TestScoreWithoutData(t *testing.T) {
	q, err := model.New(model.Spec{Name: "quadratic", Dim: 5})
	if err != nil {
		t.Fatal(err)
	}
	x := []float32{1, 2, 3, 4, 5}
	want := q.Evaluate(x, sample.Batch{})
	for name, set := range map[string]Set{"no set": nil, "empty set": view{}} {
		if got := newEvaluator(t, q, set, 1).Score(x); got.Loss != want.Loss || got.Loss == 0 {
			t.Errorf("%s: loss %v, want the objective's value %v", name, got.Loss, want.Loss)
		}
	}
}

func TestEvaluatorNeedsABatchSize(t *testing.T) {
	if _, err := NewEvaluator(fixed{}, view{}, 0); err == nil {
		t.Error("a batch of 0 samples was accepted")
	}
}

func TestScoreTellsHowFarItIs(t *testing.T) {
	m, batches := mlp(t)
	x := make([]float32, m.Dim())
	e := newEvaluator(t, m, view(batches(1)), 3)
	var told [][2]int
	e.Watch = func(done, all int) { told = append(told, [2]int{done, all}) }
	e.Score(x)
	if want := [][2]int{{3, 8}, {6, 8}, {8, 8}}; !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
}

// Parameters that are packed once for all batches, and samples that are in memory, give the same scores bit for bit.
// Other parameters count after Release, and after a gradient.
func TestHeldModelsHaveTheSameScores(t *testing.T) {
	m, batches := mlp(t)
	whole := batches(1)
	whole.X, whole.Y = slices.Clone(whole.X), slices.Clone(whole.Y)
	before := slices.Clone(whole.X)
	set := Decoded(view(whole))
	held := newEvaluator(t, m, set, 3)
	x, g := make([]float32, m.Dim()), make([]float32, m.Dim())
	for seed := range uint64(3) {
		m.Init(x, seed)
		want := newEvaluator(t, m, view(whole), 3).Score(x)
		held.Hold()
		for range 2 {
			if got := held.Score(x); got != want {
				t.Errorf("seed %d: held %+v, want %+v", seed, got, want)
			}
		}
		m.Init(g, seed+10)
		m.Gradient(make([]float32, m.Dim()), g, batches(2)) // at another point
		if got := held.Score(x); got != want {
			t.Errorf("seed %d: after a gradient %+v, want %+v", seed, got, want)
		}
		held.Release()
	}
	if !slices.Equal(whole.X, before) {
		t.Error("the samples have changed")
	}
}
