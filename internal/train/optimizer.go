package train

import (
	"fmt"
	"math"

	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/kernel"
	"gossiptrainer/internal/vec"
)

// A Kind names an optimizer.
type Kind string

// The optimizers. The zero Kind is SGD.
const (
	SGD   Kind = "sgd"
	AdamW Kind = "adamw"
	Lion  Kind = "lion"
)

// An Optimizer turns the gradients of one worker into directions p, which an algorithm multiplies by −α_k. Its vectors
// m and v are the worker's own: they are never sent and never averaged. t counts the gradients so far, from 1.
//
//	sgd    g ← g + λx;  m ← μm + g;  p = m
//	adamw  m ← β₁m + (1−β₁)g;  v ← β₂v + (1−β₂)g²;  p = m/(1−β₁^t) / (√(v/(1−β₂^t)) + ε) + λx
//	lion   q = β₁m + (1−β₁)g;  p = sign(q) + λx;  m ← β₂m + (1−β₂)g,  with sign(0) = 0
//
// AdamW is algorithm 2 of Loshchilov and Hutter, "Decoupled Weight Decay Regularization", ICLR 2019. Lion is algorithm
// 2 of Chen et al., "Symbolic Discovery of Optimization Algorithms", NeurIPS 2023. The decay takes the model at which
// the gradient was taken. Before all that, a gradient longer than ClipNorm is scaled to that length (2-norm), and then
// multiplied by Weight. So the mean over workers of weighted gradients is that of all samples.
//
// All arithmetic is in float32, with the corrections of t rounded once from float64. Subnormal moments of SGD and AdamW
// become 0, because they cost time: moments end there where a gradient stays 0. Lion takes their sign and keeps them.
type Optimizer struct {
	tier kernel.Tier
	rule Rule

	weight       float32
	decay, mu    float32
	beta1, rest1 float32   // β₁ and 1 − β₁
	beta2, rest2 float32   // β₂ and 1 − β₂
	m, v         []float32 // nil where the optimizer has none
	taken        int       // t
}

// NewOptimizer returns the optimizer of a rule, for gradients of dim coordinates. It refuses numbers out of range.
func NewOptimizer(r Rule, dim int) (*Optimizer, error) {
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	o := &Optimizer{
		tier: kernel.Best(), rule: r, decay: float32(r.WeightDecay), mu: float32(r.Momentum),
		beta1: float32(r.Beta1), rest1: float32(1 - r.Beta1), beta2: float32(r.Beta2), rest2: float32(1 - r.Beta2),
	}
	if o.weight = float32(r.Weight); r.Weight == 0 {
		o.weight = 1
	}
	if o.mu > 0 || r.Kind == AdamW || r.Kind == Lion {
		o.m = make([]float32, dim)
	}
	if r.Kind == AdamW {
		o.v = make([]float32, dim)
	}
	return o, nil
}

// Direct overwrites the gradient g at x with the direction p. Each call counts as one gradient.
func (o *Optimizer) Direct(g, x []float32) {
	if o.rule.ClipNorm > 0 {
		o.shorten(g)
	}
	switch o.rule.Kind {
	case AdamW:
		o.taken++
		o.adamw(g, x)
	case Lion:
		o.lion(g, x)
	default:
		o.sgd(g, x, o.m)
	}
}

// sgd overwrites the gradient g at x with the direction. All three may be the same part of their vectors. The rule
// admits weights of SGD alone.
func (o *Optimizer) sgd(g, x, m []float32) {
	if o.weight != 1 {
		vec.Scale(g, o.weight, g)
	}
	if o.decay > 0 {
		vec.Axpy(g, o.decay, x)
	}
	if m != nil {
		o.tier.Momentum(g, m, o.mu)
	}
}

// plain reports whether Direct changes no gradient.
func (o *Optimizer) plain() bool {
	plain := o.rule.Kind == "" || o.rule.Kind == SGD
	return plain && o.rule.ClipNorm == 0 && o.weight == 1 && o.decay == 0 && o.m == nil
}

// shorten scales g to the length ClipNorm if it is longer.
func (o *Optimizer) shorten(g []float32) {
	if length := math.Sqrt(vec.Dot(g, g)); length > o.rule.ClipNorm {
		vec.Scale(g, float32(o.rule.ClipNorm/length), g)
	}
}

func (o *Optimizer) adamw(g, x []float32) {
	m, v, x := o.m[:len(g)], o.v[:len(g)], x[:len(g)]
	first := float32(1 / (1 - power(o.rule.Beta1, o.taken)))
	second := float32(1 / (1 - power(o.rule.Beta2, o.taken)))
	eps := float32(o.rule.Eps)
	for i, a := range g {
		b := kernel.Normal(float32(o.beta1*m[i]) + float32(o.rest1*a))
		c := kernel.Normal(float32(o.beta2*v[i]) + float32(o.rest2*float32(a*a)))
		m[i], v[i] = b, c
		root := float32(math.Sqrt(float64(float32(c * second))))
		g[i] = float32(b*first)/(root+eps) + float32(o.decay*x[i])
	}
}

func (o *Optimizer) lion(g, x []float32) {
	m, x := o.m[:len(g)], x[:len(g)]
	for i, a := range g {
		q := float32(o.beta1*m[i]) + float32(o.rest1*a)
		m[i] = float32(o.beta2*m[i]) + float32(o.rest2*a)
		var sign float32
		switch {
		case q > 0:
			sign = 1
		case q < 0:
			sign = -1
		}
		g[i] = sign + float32(o.decay*x[i])
	}
}

// power returns b^t by squaring. It has the same bits on every processor, which math.Pow does not promise.
func power(b float64, t int) float64 {
	p := 1.0
	for ; t > 0; t >>= 1 {
		if t&1 == 1 {
			p = float64(p * b)
		}
		b = float64(b * b)
	}
	return p
}

// Moments returns m and v, nil where the optimizer has none. The optimizer goes on writing to them.
func (o *Optimizer) Moments() (m, v []float32) { return o.m, o.v }

// State shows m, v and t.
func (o *Optimizer) State(v *state.Visit) {
	if o.m != nil {
		v.Floats("momentum", o.m)
	}
	if o.v != nil {
		v.Floats("second", o.v)
		state.Int(v, "gradients", &o.taken, 0, math.MaxInt)
	}
}

// DirectionBound returns c, the largest magnitude of a coordinate of p − λx for any gradients, or 0 if there is none.
// SGD has none, for it follows its gradients. AdamW has one for β₁² < β₂ alone: by Cauchy and Schwarz, the largest of
//
//	c_t² = (1−β₁)²(1−β₂^t) / ((1−β₁^t)²(1−β₂)) · Σ_{s<t} (β₁²/β₂)^s.
func (r Rule) DirectionBound() float64 {
	ratio := r.Beta1 * r.Beta1 / r.Beta2
	switch {
	case r.Kind == Lion:
		return 1
	case r.Kind != AdamW || !(ratio < 1):
		return 0
	}
	// From the tail on the sum does not change any more, and c_t decreases to its limit or increases to it.
	limit := (1 - r.Beta1) / math.Sqrt((1-r.Beta2)*(1-ratio))
	most, sum, b1, b2, term := limit, 0.0, 1.0, 1.0, 1.0
	for range boundedSteps {
		sum, term, b1, b2 = sum+term, term*ratio, b1*r.Beta1, b2*r.Beta2
		most = max(most, (1-r.Beta1)/(1-b1)*math.Sqrt((1-b2)/(1-r.Beta2)*sum))
		if term < 1e-18*sum && b1 < 1e-18 && b2 < 1e-18 {
			break
		}
	}
	return most
}

// boundedSteps is the number of steps after which c_t counts as its limit: that of β₂ = 0.99999 is reached.
const boundedSteps = 5_000_000
