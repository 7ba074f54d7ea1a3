package model

import (
	"fmt"
	"math"
	"sync"

	"gossiptrainer/internal/kernel"
	"gossiptrainer/internal/rng"
	"gossiptrainer/model/sample"
)

// A quadratic is worker i's
//
//	f_i(x) = ½ Σ_c a_c·(x_c − o_ic)²,  o_ic = centre_c + spread·v_ic,
//
// with curvatures a_c in [0.1, 1) and a centre in [−1, 1) common to all workers
// and v_ic in [−1, 1) of its own. The optimum of the mean of all f_i is the mean of the o_i.
// With spread > 0, D-PSGD with a constant step stops short of this optimum. The problem needs
// no data.
type quadratic struct {
	*Problem
	optimum []float32 // nil: drawn wherever it is needed
	own     rng.Key   // of the optimum
	spread  float32
}

// A Problem is what the quadratics of all workers share. It does not change after its first use.
type Problem struct {
	// Redraw says that workers draw their optima for every gradient again, which takes longer, instead of keeping them.
	Redraw            bool
	dim               int
	seed              uint64
	once              sync.Once // the first worker makes the vectors: a run may be refused before
	curvature, centre []float32
}

// NewProblem returns what the quadratics that s describes share. It fails as New does.
func NewProblem(s Spec) (*Problem, error) {
	if err := s.checkQuadratic(); err != nil {
		return nil, err
	}
	return &Problem{dim: s.Dim, seed: s.Seed}, nil
}

// make draws the vectors.
func (p *Problem) make() {
	p.curvature, p.centre = make([]float32, p.dim), make([]float32, p.dim)
	problem := rng.Stream(p.seed, quadraticStream)
	curvature, centre := rng.At(problem, 0), rng.At(problem, 1)
	for c := range p.curvature {
		i := uint32(c)
		p.curvature[c] = 0.1 + float32(0.9*curvature.Uniform(i))
		p.centre[c] = 2*centre.Uniform(i) - 1
	}
}

var _ Model = (*quadratic)(nil)

func quadraticKind() Kind {
	return Kind{
		Name: "quadratic", Takes: []string{"dim", "spread"},
		build: func(s Spec, _ kernel.Tier) (Model, error) { return newQuadratic(s) },
		measure: func(s Spec) (Size, error) {
			layout := quadraticLayout(s.Dim)
			return Size{Layout: layout, Form: PlainForm(layout), Dim: s.Dim, Packed: 2 * s.Dim}, s.checkQuadratic()
		},
	}
}

// quadraticStream separates the problem from the streams of the workers, which
// are below it.
const quadraticStream = initStream - 1

// checkQuadratic refuses what no quadratic can be built from.
func (s Spec) checkQuadratic() error {
	if s.Dim < 1 {
		return fmt.Errorf("model: quadratic: dimension %d: want at least 1", s.Dim)
	}
	if !(s.Spread >= 0) || math.IsInf(s.Spread, 0) {
		return fmt.Errorf("model: quadratic: spread %v: want a finite number of at least 0", s.Spread)
	}
	if s.Worker < 0 {
		return fmt.Errorf("model: quadratic: worker %d: want at least 0", s.Worker)
	}
	return nil
}

func newQuadratic(s Spec) (*quadratic, error) {
	if err := s.checkQuadratic(); err != nil {
		return nil, err
	}
	p := s.Problem
	if p == nil || p.dim != s.Dim {
		var err error
		if p, err = NewProblem(s); err != nil {
			return nil, err
		}
	}
	return p.worker(s), nil
}

// worker returns the quadratic of the worker of s.
func (p *Problem) worker(s Spec) *quadratic {
	p.once.Do(p.make)
	own := rng.At(rng.Stream(rng.Stream(s.Seed, quadraticStream), s.Worker), 0)
	q := &quadratic{Problem: p, own: own, spread: float32(s.Spread)}
	if !p.Redraw {
		q.optimum = q.draw(make([]float32, len(p.centre)))
	}
	return q
}

// draw writes the optimum to dst and returns dst.
func (q *quadratic) draw(dst []float32) []float32 {
	for c := range dst {
		dst[c] = q.drawn(c)
	}
	return dst
}

// drawn returns coordinate c of the optimum.
func (q *quadratic) drawn(c int) float32 {
	return q.centre[c] + float32(q.spread*(2*q.own.Uniform(uint32(c))-1))
}

// Dim returns the number of parameters.
func (q *quadratic) Dim() int { return len(q.centre) }

// Layout names the one vector.
func (q *quadratic) Layout() []Param { return quadraticLayout(len(q.centre)) }

func quadraticLayout(dim int) []Param { return []Param{{Name: "x", Shape: []int{dim}}} }

// Init draws x⁰ uniformly from [−1, 1).
func (q *quadratic) Init(x []float32, seed uint64) {
	key := rng.At(rng.Stream(seed, initStream), 0)
	for c := range q.centre {
		x[c] = 2*key.Uniform(uint32(c)) - 1
	}
}

// Gradient computes f_i and its full gradient; there is no batch.
func (q *quadratic) Gradient(g, x []float32, _ sample.Batch) (loss float32) {
	if q.optimum == nil {
		return float32(q.redrawn(g, x))
	}
	return float32(kernel.Quadratic(kernel.Best(), g[:len(q.curvature)], q.curvature, x, q.optimum) / 2)
}

// Evaluate computes f_i; there is no batch and no accuracy.
func (q *quadratic) Evaluate(x []float32, _ sample.Batch) Score {
	return Score{Loss: q.value(x), Accuracy: math.NaN()}
}

// value takes four sums side by side, for each addition waits for the last.
func (q *quadratic) value(x []float32) float64 {
	if q.optimum == nil {
		return q.redrawn(nil, x)
	}
	var sums [4]float64
	a, o := q.curvature, q.optimum
	for len(a) >= 4 && len(o) >= 4 && len(x) >= 4 {
		sums[0] += term(a[0], x[0], o[0])
		sums[1] += term(a[1], x[1], o[1])
		sums[2] += term(a[2], x[2], o[2])
		sums[3] += term(a[3], x[3], o[3])
		a, o, x = a[4:], o[4:], x[4:]
	}
	for c := range a {
		sums[c] += term(a[c], x[c], o[c])
	}
	return ((sums[0] + sums[1]) + (sums[2] + sums[3])) / 2
}

// redrawn is value without an optimum in memory, and writes the gradient to g unless it is nil.
func (q *quadratic) redrawn(g, x []float32) float64 {
	var sums [4]float64
	for c, a := range q.curvature {
		o := q.drawn(c)
		if g != nil {
			g[c] = a * (x[c] - o)
		}
		sums[c%4] += term(a, x[c], o)
	}
	return ((sums[0] + sums[1]) + (sums[2] + sums[3])) / 2
}

// term returns a·(x − o)².
func term(a, x, o float32) float64 {
	d := float64(x) - float64(o)
	return float64(float64(a) * d * d)
}
