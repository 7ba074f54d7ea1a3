// Package train turns an objective and mini-batches into the update directions that the algorithms subtract. It also
// computes the outcome of a run: scores, digests and saved models.
//
// It does not change models: package algos does.
package train

import (
	"fmt"
	"math"

	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/kernel"
	"gossiptrainer/model"
	"gossiptrainer/model/sample"
)

// ErrDiverged is wrapped by the error of a round in which the loss or the update direction is not finite, or the model
// is too large.
const ErrDiverged divergence = "training diverged"

// A divergence tells packages that do not train that a model has diverged.
type divergence string

func (d divergence) Error() string { return string(d) }

// Diverged reports true.
func (divergence) Diverged() bool { return true }

// Limits beyond which training never recovers.
const (
	farthest = 1e15 // magnitude of a parameter: sums lose their addends long before they overflow
	worst    = 1e4  // loss, as a multiple of the worker's first loss, or of 1 if that is smaller
)

// A Rule says how a gradient becomes an update direction. The zero Rule does not change it.
type Rule struct {
	Kind        Kind    // of the optimizer; "": SGD
	Momentum    float64 // μ of heavy-ball momentum, [0, 1), of SGD alone
	WeightDecay float64 // λ, ≥ 0: of SGD the gradient of λ/2·|x|², of the others decoupled
	Beta1       float64 // β₁ of AdamW and Lion, [0, 1)
	Beta2       float64 // β₂ of AdamW and Lion, [0, 1)
	Eps         float64 // ε of AdamW, > 0
	ClipNorm    float64 // longer gradients are scaled to this length (2-norm); 0 = not at all
	Weight      float64 // of the worker in the objective: its gradients are multiplied by it, > 0, of SGD alone; 0 = 1
	Bound       float64 // the direction is clipped to ±Bound per coordinate; 0 = not at all
	Exact       int     // trailing coordinates that are not clipped, because they do not travel by a codec
}

// check refuses numbers out of range, NaN and Inf.
func (r Rule) check() error {
	if !(r.Momentum >= 0 && r.Momentum < 1) {
		return fmt.Errorf("momentum %v: want a number in [0, 1)", r.Momentum)
	}
	if !(r.WeightDecay >= 0) || math.IsInf(r.WeightDecay, 0) {
		return fmt.Errorf("weight decay %v: want a finite number of at least 0", r.WeightDecay)
	}
	if !(r.Bound >= 0) || math.IsInf(r.Bound, 0) {
		return fmt.Errorf("bound %v: want a finite number of at least 0", r.Bound)
	}
	if !(r.ClipNorm >= 0) || math.IsInf(r.ClipNorm, 0) {
		return fmt.Errorf("clip of the gradient's norm %v: want a finite number of at least 0", r.ClipNorm)
	}
	if !(r.Weight >= 0) || math.IsInf(r.Weight, 0) {
		return fmt.Errorf("weight %v of the worker: want a finite number above 0", r.Weight)
	}
	return r.checkKind()
}

// checkKind refuses what the kind of the optimizer does not allow.
func (r Rule) checkKind() error {
	switch r.Kind {
	case "", SGD:
		return nil
	case AdamW, Lion:
	default:
		return fmt.Errorf("unknown optimizer %q: want sgd, adamw or lion", r.Kind)
	}
	if r.Weight != 0 && r.Weight != 1 {
		return fmt.Errorf("weight %v: the steps of %s do not depend on the length of a gradient, want 1", r.Weight, r.Kind)
	}
	if r.Momentum != 0 {
		return fmt.Errorf("momentum %v: %s has a momentum of its own, want 0", r.Momentum, r.Kind)
	}
	for i, beta := range []float64{r.Beta1, r.Beta2} {
		if !(beta >= 0 && beta < 1) {
			return fmt.Errorf("beta%d %v: want a number in [0, 1)", i+1, beta)
		}
	}
	if r.Kind == AdamW && !(float32(r.Eps) > 0 && r.Eps <= 1) {
		return fmt.Errorf("eps %v: want a number above 0 and up to 1 as a float32, whose least one is 1.4e-45", r.Eps)
	}
	return nil
}

// Batches returns the mini-batch of round k, a function of (seed, worker, k). Callers use the batch before the next
// call.
type Batches func(k int) sample.Batch

// NoData returns the empty batch of objectives without data.
func NoData(int) sample.Batch { return sample.Batch{} }

// FromShard returns the batches that a sampler draws from a worker's shard. They share memory.
func FromShard(shard data.Set, s data.Sampler) Batches {
	var batch sample.Batch
	var rows []int
	return func(k int) sample.Batch {
		rows = s.Append(rows[:0], k)
		shard.Gather(&batch, rows)
		return batch
	}
}

// A Gradient writes the gradient of round k at x into g, of the length of x, and returns the loss.
type Gradient func(g []float32, k int, x []float32) (loss float32, err error)

// An Oracle computes the update directions of one worker,
//
//	p = direction of the optimizer from ∇f_i(x; batch k), see Optimizer
//	p ← clip(p, ±Bound)            with a bound
//
// The clip comes last and does not change the optimizer's memory. An algorithm applies α_k
// times a vector whose every coordinate lies in [−Bound, Bound], for any
// gradient, decay and momentum. That is the G_∞ of the certified rule for
// theta, which therefore needs no factor 1/(1−μ) and no term for the decay.
//
// Apart from that memory, a direction is a function of (x, k) alone. An Oracle is not
// safe for concurrent use.
type Oracle struct {
	tier     kernel.Tier
	worker   int
	gradient Gradient
	keeper   any  // of the state of gradient, nil or no state.Keeper without one
	optional bool // a loss of NaN says that there is none

	optimizer *Optimizer // nil: the gradient is the direction
	parts     *parts     // nil: gradients come whole
	bound     float32
	exact     int
	clipped   int     // coordinates of the last direction
	scale     float64 // of the loss: the first one, at least 1; 0 before it
}

// NewOracle returns the oracle of a worker over its own objective and batches.
func NewOracle(worker int, f model.Objective, batches Batches, r Rule) (*Oracle, error) {
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("train: worker %d: %w", worker, err)
	}
	o := &Oracle{
		tier: kernel.Best(), worker: worker, keeper: f,
		gradient: func(g []float32, k int, x []float32) (float32, error) { return f.Gradient(g, x, batches(k)), nil },
		bound:    roundDown(r.Bound), exact: r.Exact,
	}
	var err error
	if o.optimizer, err = NewOptimizer(r, f.Dim()); err != nil {
		return nil, fmt.Errorf("train: worker %d: %w", worker, err)
	}
	if o.parts = newParts(f, batches, o.optimizer); o.optimizer.plain() {
		o.optimizer = nil
	}
	return o, nil
}

// NewExternal returns the oracle of a worker whose directions a program outside computes. Its state is that program's,
// apart from the scale of the loss. An error of the program is returned as it is. A loss of 0 says that the program has
// told none. The rule may have a bound only.
func NewExternal(worker int, update Gradient, r Rule) (*Oracle, error) {
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("train: worker %d: %w", worker, err)
	}
	if r != (Rule{Bound: r.Bound, Exact: r.Exact}) {
		return nil, fmt.Errorf("train: worker %d: the program has the optimizer: want no settings of one, got %+v", worker, r)
	}
	return &Oracle{
		tier: kernel.Best(), worker: worker, gradient: update, optional: true, bound: roundDown(r.Bound), exact: r.Exact,
	}, nil
}

// Succeed makes an oracle of NewExternal, for another vector, clip as next does.
func (o *Oracle) Succeed(next *Oracle) { o.bound, o.exact = next.bound, next.exact }

// Gradient overwrites g with the update direction of round k at x. It returns the loss of the batch times the weight of
// the worker, so that the mean over workers is the objective. The caller owns g, which is no memory of the oracle, or
// all of Momentum. The error wraps ErrDiverged; g is then undefined.
func (o *Oracle) Gradient(g []float32, k int, x []float32) (loss float32, err error) {
	if most := math.Float32frombits(o.tier.Magnitude(x)); !(most <= farthest) {
		return 0, fmt.Errorf("train: worker %d: round %d: a parameter is %v: %w", o.worker, k, most, ErrDiverged)
	}
	whole := !o.inPlace(g)
	if !whole {
		loss = o.parts.direction(k, x)
	} else if loss, err = o.gradient(g, k, x); err != nil {
		return loss, err
	}
	if err := o.judge(k, loss); err != nil {
		return loss, err
	}
	if whole && o.optimizer != nil {
		o.optimizer.Direct(g, x)
	}
	if o.tier.Magnitude(g) >= math.Float32bits(float32(math.Inf(1))) {
		return loss, fmt.Errorf("train: worker %d: round %d: update direction is not finite: %w", o.worker, k, ErrDiverged)
	}
	o.clipped = 0
	if o.bound > 0 {
		o.clipped = clip(g[:len(g)-o.exact], o.bound)
	}
	if o.optimizer != nil {
		loss *= o.optimizer.weight
	}
	return loss, nil
}

// judge returns an error if the loss of round k is out of all proportion to the first one.
func (o *Oracle) judge(k int, loss float32) error {
	v := float64(loss)
	if o.optional && math.IsNaN(v) {
		return nil
	}
	if o.scale == 0 {
		o.scale = max(1, math.Abs(v))
	}
	if !(v <= worst*o.scale) || math.IsInf(v, 0) {
		return fmt.Errorf("train: worker %d: round %d: loss is %v: %w", o.worker, k, loss, ErrDiverged)
	}
	return nil
}

// plain reports whether directions are gradients.
func (o *Oracle) plain() bool {
	return o.parts == nil && o.bound == 0 && !o.optional && o.optimizer == nil
}

// clip limits every coordinate of g to ±bound and returns how many it changed.
func clip(g []float32, bound float32) (clipped int) {
	for i, v := range g {
		if v > bound {
			g[i] = bound
			clipped++
		} else if v < -bound {
			g[i] = -bound
			clipped++
		}
	}
	return clipped
}

// roundDown returns the largest float32 that does not exceed v ≥ 0, so that a bound in float64 holds for the applied
// float32.
func roundDown(v float64) float32 {
	r := float32(v)
	if float64(r) > v {
		r = math.Nextafter32(r, 0)
	}
	return r
}

// State shows the state of the optimizer, the scale of the loss, and the state of the objective.
func (o *Oracle) State(v *state.Visit) {
	if o.optimizer != nil {
		o.optimizer.State(v)
	}
	v.Double("scale", &o.scale)
	v.Part("model", o.keeper)
}
