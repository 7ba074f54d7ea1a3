package train

import "gossiptrainer/model"

// parts form the directions of heavy-ball momentum in the momentum itself, part by part: the gradient is never in
// memory whole.
type parts struct {
	objective model.Parted
	batches   Batches
	optimizer *Optimizer
	x         []float32                       // where the gradient is taken
	take      func(first int, part []float32) // turns a part of the gradient into that of the direction
}

// ComputesInPlace reports whether directions are the momentum itself. It lists the fields that may differ from zero, so
// that a new one turns the shortcut off until it is listed.
func (r Rule) ComputesInPlace() bool {
	allowed := Rule{
		Momentum: r.Momentum, WeightDecay: r.WeightDecay, Weight: r.Weight, Exact: r.Exact,
		Beta1: r.Beta1, Beta2: r.Beta2, Eps: r.Eps, // of other kinds
	}
	if r.Kind == SGD {
		allowed.Kind = SGD
	}
	return r == allowed && r.Momentum > 0
}

// newParts returns nil if a direction is not the momentum, or if the objective has no parts.
func newParts(f model.Objective, batches Batches, o *Optimizer) *parts {
	objective, ok := f.(model.Parted)
	if !ok || !o.rule.ComputesInPlace() || o.m == nil {
		return nil
	}
	p := &parts{objective: objective, batches: batches, optimizer: o}
	p.take = func(first int, part []float32) {
		end := first + len(part)
		o.sgd(part, p.x[first:end], o.m[first:end])
	}
	return p
}

// direction replaces the momentum by the direction of round k at x, and returns the loss.
func (p *parts) direction(k int, x []float32) (loss float32) {
	p.x = x
	loss = p.objective.GradientParts(x, p.batches(k), p.take)
	p.x = nil
	return loss
}

// Momentum returns the vector m where it is the update direction itself, else nil. A caller that gives it to Gradient
// as g needs no memory for a gradient, and may not change it.
func (o *Oracle) Momentum() []float32 {
	if o.parts == nil {
		return nil
	}
	return o.parts.optimizer.m
}

// inPlace reports whether g is the momentum.
func (o *Oracle) inPlace(g []float32) bool {
	return o.parts != nil && len(g) > 0 && &g[0] == &o.parts.optimizer.m[0]
}
