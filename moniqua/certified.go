package moniqua

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
)

// Certified is the theta rule that bounds the difference of two neighbours by the sum of all its causes. These are
// updates of at most α·G_∞ and grid errors of at most δB per round. W^t carries each of them on. With the path sums of
// the graph
//
//	S  = max over edges (i,j) of Σ_t |W^t (e_i − e_j)|_1
//	S1 = max over edges (i,j) of Σ_t |(W − I) W^t (e_i − e_j)|_1
//
// |x_i − x_j| ≤ α·G_∞·S + δB·S1, and B = 2θ/(1−2δ). Hence no run from equal starts exceeds
//
//	θ = α·G_∞·S / (1 − S1·2δ/(1−2δ)),   if S1·2δ/(1−2δ) < 1.
//
// For D² the sums are those of the response of z: Sg over updates and Se over grid errors, in place of S and S1.
type Certified struct {
	S, S1    float64 // path sums of the graph; for D² Sg and Se
	Rho      float64 // ρ of W, in [0, 1): sets how long steps have an effect
	Levels   int     // N
	Rounding Rounding
}

// amplification returns 2δ/(1−2δ), the grid error δB in units of θ.
func (c Certified) amplification() float64 {
	spread := c.Rounding.spread()
	return float64(spread) / float64(c.Levels-spread)
}

// returned returns the share of θ that is due to grid errors of rounds before.
func (c Certified) returned() float64 { return c.S1 * c.amplification() }

// Check returns the reason why there is no certificate, with a fix, or nil.
func (c Certified) Check() error {
	if err := c.Rounding.Check(c.Levels); err != nil {
		return err
	}
	if !(c.S >= 0 && c.S1 >= 0 && c.Rho >= 0 && c.Rho < 1) || math.IsInf(c.S, 0) || math.IsInf(c.S1, 0) {
		return fmt.Errorf("moniqua: certified rule: S %v, S1 %v, rho %v: not the path sums of a mixing matrix that converges",
			c.S, c.S1, c.Rho)
	}
	// The sums are cut off, so a sum of 1 comes out slightly below.
	if feedback := c.returned(); feedback > 1-1e-9 {
		return fmt.Errorf("moniqua: certified rule: %d levels with %v rounding have no certificate on this graph: "+
			"grid errors return %.3g-fold, which must be below 1: use %s",
			c.Levels, c.Rounding, feedback, c.fix())
	}
	return nil
}

// fix names the settings that would give a certificate. Slack reduces S1, but never below 2.
func (c Certified) fix() string {
	levels := c.fewestLevels()
	fix := fmt.Sprintf("at least %d levels (%d bits)", levels, bits.Len(uint(levels-1)))
	if 2*c.amplification() < 1 {
		fix += ", a smaller slack γ"
	}
	return fix + ", or the rule adaptive"
}

// fewestLevels returns the smallest N that has a certificate: S1·2δ/(1−2δ) < 1
// is N > spread·(S1 + 1).
func (c Certified) fewestLevels() int {
	return int(float64(c.Rounding.spread())*(c.S1+1)) + 1
}

// Theta returns θ for the step size alpha and updates within ±bound.
func (c Certified) Theta(alpha, bound float64) (float64, error) {
	if err := c.Check(); err != nil {
		return 0, err
	}
	return alpha * bound * c.S / (1 - float64(c.S1*c.amplification())), nil
}

// Rule returns θ_k along a run, with the largest step in the graph's memory as α. After a fall of the step size θ falls
// by
// the share of the updates at once, and by that of the grid errors memory by memory. A lone worker has S = 0 and no
// neighbour: any θ > 0 is correct, and the rule takes S = 1.
func (c Certified) Rule(u Updates) (func(k int) float64, error) {
	c.S = cmp.Or(c.S, 1)
	perStep, err := c.Theta(1, 1)
	if err != nil {
		return nil, err
	}
	if err := u.check(); err != nil {
		return nil, err
	}
	return proportional(perStep*u.Bound, c.returned(), c.Rho, u), nil
}

// A Past has the sums S and S1 of updates and grid errors of the earlier views of a run, over all pairs. Members come
// and go between views, and some meet that were no neighbours before. In the first view the sums are 0.
type Past struct{ S, S1 float64 }

// After returns what a view leaves, beside the past, to the next one. The sums are those over all its pairs. Its
// exchanges bring models together by the factor spread. In cut of them a message was left out.
//
//	M' = S + 2·cut + spread·M,  M1' = S1 + 4·cut + spread·M1
func (p Past) After(s, s1, spread float64, cut int) Past {
	return Past{
		S:  s + float64(2*cut) + float64(spread*p.S),
		S1: s1 + float64(4*cut) + float64(spread*p.S1),
	}
}

// In returns the certificate of a view with that past. Its own sums are those of c.
func (c Certified) In(p Past) Certified {
	c.S, c.S1 = c.S+p.S, c.S1+p.S1
	return c
}

// Tracked is the theta rule of gradient tracking, which sends models in lane 0 and directions in lane 1. A tracked
// direction y follows the mean of all directions, which are within ±G. With the sums of the pairs that exchange, S1all
// of all pairs and q = 2δ/(1−2δ),
//
//	θ₂ = G·(2 + S1)/(1 − S1·q)
//	θ  = α·S·R/2/(1 − S1·q),  R = G·(2 + S1all) + S1all·θ₂·q,   if S1all·q < 1.
//
// Models see only the spread R of the directions. θ₂ bounds directions, and does not shrink with α.
type Tracked struct {
	Certified
	AllS1 float64 // S1 over all pairs of workers
}

// Check returns the reason why there is no certificate, with a fix, or nil.
func (t Tracked) Check() error {
	widest := t.Certified
	widest.S1 = max(t.S1, t.AllS1)
	return widest.Check()
}

// Theta returns θ of models and θ₂ of directions for the step size alpha and directions within ±bound.
func (t Tracked) Theta(alpha, bound float64) (theta, second float64, err error) {
	if err := t.Check(); err != nil {
		return 0, 0, err
	}
	q := t.amplification()
	rest := 1 - float64(t.S1*q)
	second = bound * (2 + t.S1) / rest
	return alpha * t.S * t.spread(bound) / 2 / rest, second, nil
}

// spread returns R.
func (t Tracked) spread(bound float64) float64 {
	q := t.amplification()
	second := bound * (2 + t.S1) / (1 - float64(t.S1*q))
	return bound*(2+t.AllS1) + float64(t.AllS1*second)*q
}

// Rules returns θ_k and θ₂ along a run, with the largest step in the graph's memory as α. A lone worker has no
// neighbour: any bounds are correct, and the rules take S = 1.
func (t Tracked) Rules(u Updates) (theta, second func(k int) float64, err error) {
	t.S = cmp.Or(t.S, 1)
	if err := u.check(); err != nil {
		return nil, nil, err
	}
	perStep, fixed, err := t.Theta(1, u.Bound)
	if err != nil {
		return nil, nil, err
	}
	return proportional(perStep, t.returned(), t.Rho, u), func(int) float64 { return fixed }, nil
}
