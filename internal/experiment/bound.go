package experiment

import (
	"slices"

	"gossiptrainer/algos"
	"gossiptrainer/configs"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/modulo"
	"gossiptrainer/internal/registry"
	"gossiptrainer/internal/train"
)

// defaultBound is the G_∞ that the value 0 in a run file stands for. Of optimizers whose directions have a bound it is
// that bound, and the weight decay of a parameter of this size.
const defaultBound = 1

// UpdateBound returns the bound on the update direction of a worker of weight 1, 0 for none. Rules that compute theta
// need one.
func UpdateBound(r *Run) float64 {
	theta := r.cfg.Algorithm.Theta
	switch {
	case !quantized(r):
		return 0
	case theta.Bound == 0 && !r.method.Asynchronous() && (theta.Rule == "certified" || theta.Rule == "theorem"):
		if c := Directions(r.cfg.Train).DirectionBound(); c > 0 {
			return c + r.cfg.Train.WeightDecay*defaultBound
		}
		return defaultBound
	}
	return theta.Bound
}

// largestBound returns a bound on the update directions of all workers, 0 for none. The direction of a worker is
// clipped to the bound times its weight, so a certificate holds with the largest weight. It reads the labels only where
// both are there.
func largestBound(r *Run) (float64, error) {
	bound := UpdateBound(r)
	if bound == 0 || r.data == nil || !r.cfg.Data.Weighted() {
		return bound, nil
	}
	weights, err := r.data.Weights()
	if err != nil {
		return 0, err
	}
	return bound * slices.Max(weights), nil
}

// Directions returns the rule from gradients to directions of a worker of weight 1, without a bound.
func Directions(t configs.Train) train.Rule {
	o := t.Optimizer
	rule := train.Rule{
		Kind: train.Kind(o.Name), Momentum: t.Momentum, WeightDecay: t.WeightDecay, ClipNorm: o.ClipNorm,
	}
	if rule.Kind != train.SGD {
		rule.Beta1, rule.Beta2, rule.Eps = o.Beta1, o.Beta2, o.Eps
	}
	return rule
}

// Settings returns those of the algorithm, without clipping.
func Settings(c configs.Config) registry.Settings {
	a := c.Algorithm
	s := registry.Settings{
		Gamma: float32(a.Gamma), Eta: float32(a.Update.Eta), Momentum: float32(a.Update.Momentum), LocalSteps: a.LocalSteps,
		Slack: float64(c.Topology.Slack), Feedback: a.ErrorFeedback,
	}
	if a.Order == "atc" {
		s.Order = algos.ATC
	}
	return s
}

// Weights returns the weights of the workers in the objective, 1 where all count equally. It may read the labels.
func Weights(r *Run) ([]float64, error) {
	if r.data == nil || !r.cfg.Data.Weighted() {
		return data.EqualShares(r.N()), nil
	}
	return r.data.Weights()
}

// quantized says whether models travel as symbols of the modulo codec.
func quantized(r *Run) bool { return modulo.Uses(r.method, r.cfg.Algorithm) }
