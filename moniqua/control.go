package moniqua

import (
	"fmt"
	"math"

	"gossiptrainer/algos"
	"gossiptrainer/gossip/state"
)

// A Control chooses θ while a run goes on, the same at all workers in every
// round although each sees only its neighbours. Time is cut into epochs of L
// exchanges, L larger than the diameter of the graph:
//
//	epoch e      each worker notes the largest gap it sees, and whether θ was violated
//	epoch e+1    these notes travel with the messages, combined by their maximum
//	epoch e+2    every worker knows the maximum over all workers, and applies the same rule
//
// L exchanges carry a note to every worker before epoch e+2 begins, so a change
// is known everywhere in time and two values of θ never meet in one round.
//
// A worker that mixes late applies the same rule to the same notes: the round decides
// which notes are combined, never the order of arrival.
type Control struct {
	plan ControlPlan
	rule controlRule
	warm int // epochs in full precision at the beginning

	scale [3]float64 // of the epochs e−1, e, e+1, by epoch mod 3
	seen  note       // in the present epoch, here
	told  note       // in the last one, by all who have been heard of
	since int        // the epoch from which on the present scale holds
	peak  note       // since then
	clean int        // exchanges without violation since then
	found bool       // a violation has been caught: θ was too small once
}

// A ControlPlan holds the settings that all workers of a run share.
type ControlPlan struct {
	Diameter int                 // of the graph, ≥ 0
	Every    int                 // rounds per exchange, ≥ 1
	Start    float64             // of Unit: θ before anything is known, > 0
	Unit     func(k int) float64 // > 0: θ is proportional to it; the same bits at all workers
	Step     float64             // of the grid of θ = 1, ≥ 0: gaps are seen up to that above the true ones
}

// A controlRule returns the scale of epoch e+1 at the end of epoch e. c.told then holds
// the notes of all workers of epoch e−1.
type controlRule func(c *Control, e int) float64

const (
	growth      = 2    // on a violation, and in halving before the first
	wary        = 1.25 // on a violation, where the grid is as coarse as θ
	decay       = 0.97 // after calm exchanges
	calm        = 100  // exchanges without violation
	roomy       = 0.4  // gap/θ below which θ is too large
	safety      = 2    // of measured: θ over the largest gap seen
	warmup      = 20   // exchanges that measured looks at, at least
	largestNote = 1 << 20
)

// Adaptive returns the rule of verified runs: θ_k = scale·Unit(k), where the
// scale is doubled, until the largest gap that there is for certain fits, once a
// violation was caught, and multiplied by 0.97 after 100 exchanges with no gap
// seen above 0.4 θ. Before the first violation it is halved instead after every
// epoch of that kind in which anything moved, so that the start needs no tuning.
//
// Gaps are seen as recovered, up to one step D above the true ones. With one bit, where
// D is 2θ, nothing finer than θ is known: it hardly shrinks, and the start should be
// too small rather than too large. It also grows by 1.25 instead of 2 there: models
// differ by the noise of the grid, which grows with θ, so that a θ which has doubled
// without need may be violated by noise that it has made itself. Smaller steps stop
// nearer to the need, and one too few costs repairs, which change no model.
func Adaptive(plan ControlPlan) (*Control, error) {
	return newControl(plan, (*Control).adapt)
}

// Measured returns the rule that looks at the largest gap G of about 20 exchanges
// in full precision and takes θ = 2·G from then on; Start if G = 0.
func Measured(plan ControlPlan) (*Control, error) {
	c, err := newControl(plan, (*Control).measure)
	if err == nil {
		c.warm = (warmup+c.length()-1)/c.length() + 1 // in the last one all get to know
	}
	return c, err
}

func newControl(plan ControlPlan, rule controlRule) (*Control, error) {
	switch {
	case plan.Diameter < 0 || plan.Every < 1 || plan.Unit == nil:
		return nil, fmt.Errorf("moniqua: theta control: diameter %d, exchange every %d rounds: "+
			"want at least 0 and 1, and a unit", plan.Diameter, plan.Every)
	case !(plan.Start > 0) || math.IsInf(plan.Start, 0):
		return nil, fmt.Errorf("moniqua: theta control: start %v: must be finite and greater than 0", plan.Start)
	case !(plan.Step >= 0) || math.IsInf(plan.Step, 0):
		return nil, fmt.Errorf("moniqua: theta control: step %v: must be finite and not negative", plan.Step)
	}
	return &Control{plan: plan, rule: rule, scale: [3]float64{plan.Start, plan.Start, plan.Start}}, nil
}

// Theta returns θ_k for rounds of the present epoch, the one before, and the one
// after once it is known; in rounds of full precision it means nothing.
func (c *Control) Theta(k int) float64 {
	return c.scale[c.epoch(k)%len(c.scale)] * c.plan.Unit(k)
}

// Full reports whether models travel in full precision in round k.
func (c *Control) Full(k int) bool { return c.epoch(k) < c.warm }

// length returns L.
func (c *Control) length() int { return c.plan.Diameter + 1 }

// epoch returns that of round k.
func (c *Control) epoch(k int) int { return k / c.plan.Every / c.length() }

// mixed enters the gap and the repairs of the exchange of round k. The next exchange
// may begin afterwards.
func (c *Control) mixed(k int, notes []uint32, saw algos.Mixed, repaired int) {
	gap := float64(saw.Gap)
	if !c.Full(k) {
		gap /= c.Theta(k)
	}
	c.seen = c.seen.or(newNote(gap, repaired > 0))
	for _, n := range notes {
		c.told = c.told.or(note(n))
	}
	exchange := k / c.plan.Every
	if exchange%c.length() != c.length()-1 {
		return
	}
	e := c.epoch(k)
	next := c.scale[e%len(c.scale)]
	if e > 0 {
		next = c.rule(c, e)
	}
	c.scale[(e+1)%len(c.scale)] = next
	c.told, c.seen = c.seen, 0
}

// State shows the scales and the notes.
func (c *Control) State(v *state.Visit) {
	v.Doubles("scale", c.scale[:])
	for _, scale := range c.scale {
		if !(scale > 0) {
			v.Fail("scale", fmt.Errorf("%v: must be greater than 0", c.scale))
		}
	}
	state.Int(v, "seen", &c.seen, 0, math.MaxUint32)
	state.Int(v, "told", &c.told, 0, math.MaxUint32)
	state.Int(v, "since", &c.since, 0, math.MaxInt)
	state.Int(v, "peak", &c.peak, 0, math.MaxUint32)
	state.Int(v, "clean", &c.clean, 0, math.MaxInt)
	v.Bool("found", &c.found)
}
