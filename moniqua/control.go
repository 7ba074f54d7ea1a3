package moniqua

import (
	"fmt"
	"math"
	"sync/atomic"

	"gossiptrainer/algos"
	"gossiptrainer/gossip/state"
)

// A Control chooses θ while a run goes on. All workers have the same θ in every round although each sees only its
// neighbours. An epoch has L exchanges, L larger than the diameter of the graph:
//
//	epoch e      each worker notes the largest gap it sees, and whether θ was violated
//	epoch e+1    these notes travel with the messages, combined by their maximum
//	epoch e+2    every worker knows the maximum over all workers, and applies the same rule
//
// L exchanges carry a note to every worker before epoch e+2 begins. So every worker knows of a change in time, and two
// values of θ never meet in one round.
//
// A worker that mixes late applies the same rule to the same notes: the round, not the order of arrival, decides which
// notes are combined.
//
// A θ that follows ever smaller gaps would make the grid finer than float32, and at last an index would reach 2³¹. So a
// worker whose largest parameter is 2²⁶ steps from 0 or more notes a violation: θ grows. See docs/math.md#adaptive.
type Control struct {
	plan ControlPlan
	rule controlRule
	warm int // epochs in full precision at the beginning

	scale [3]float64  // of the epochs e−1, e, e+1, by epoch mod 3
	seen  note        // by this worker in the present epoch
	told  note        // by all workers in the last epoch, as far as their notes have arrived
	since int         // the epoch from which on the present scale holds
	peak  note        // largest note since then
	clean int         // exchanges without violation since then
	found bool        // a violation has been caught: θ was too small once
	now   int         // the epoch of the next exchange that is mixed
	fine  atomic.Bool // in the exchange being mixed, the grid is finer than the parameters need
}

// A ControlPlan holds the settings that all workers of a run share.
type ControlPlan struct {
	Diameter int                 // of the graph, ≥ 0
	Every    int                 // rounds per exchange, ≥ 1
	Start    float64             // in units of Unit: θ at the beginning, > 0
	Unit     func(k int) float64 // > 0: θ is proportional to it; the same bits at all workers
	Step     float64             // of the grid of θ = 1, ≥ 0: gaps appear larger than they are by up to that

	// In a run whose members come and go each view has a control of its own.
	First  int                                    // the exchange with which epochs begin, ≥ 0
	Warm   bool                                   // an earlier control has measured: Start needs no warm-up
	Agreed func(x int) (scale float64, said bool) // the scale of exchange x in the log of views; nil: the log has none
}

// A controlRule returns the scale of epoch e+1 at the end of epoch e. c.told then holds
// the notes of all workers of epoch e−1.
type controlRule func(c *Control, e int) float64

const (
	growth      = 2    // on a violation, and in halving before the first
	wary        = 1.25 // on a violation, if the grid is as coarse as θ
	decay       = 0.97 // after calm exchanges
	calm        = 100  // exchanges without violation
	roomy       = 0.4  // gap/θ below which θ is too large
	safety      = 2    // of measured: θ over the largest gap seen
	warmup      = 20   // the least number of exchanges that measured looks at
	largestNote = 1 << 20
	finest      = 1 << 26 // steps from 0 to the largest parameter from which on the grid is finer than float32
)

// Adaptive returns the rule of verified runs, θ_k = scale·Unit(k). After a violation the rule doubles the scale until
// the largest certain gap fits. After 100 exchanges with no gap above 0.4 θ it multiplies the scale by 0.97. Before the
// first violation it instead halves the scale after every epoch whose gaps are above 0 and below 0.4 θ. So the start
// needs no tuning.
//
// Gaps are measured on recovered models, up to one step D above the true ones. With one bit D is 2θ, and gaps below θ
// are invisible. So θ hardly shrinks, and the start should be too small rather than too large. There the factor on a
// violation is 1.25 instead of 2. Models differ by the noise of the grid, which grows with θ, so a θ doubled without
// need may cause the next violation itself. Smaller factors stop closer to the need; too small ones cost repairs, which
// change no model.
func Adaptive(plan ControlPlan) (*Control, error) {
	return newControl(plan, (*Control).adapt)
}

// Measured returns the rule that measures the largest gap G of about 20 exchanges in full precision. From then on θ =
// 2·G; Start if G = 0.
func Measured(plan ControlPlan) (*Control, error) {
	c, err := newControl(plan, (*Control).measure)
	if err == nil && !plan.Warm {
		c.warm = plan.Warmup()
	}
	return c, err
}

// Warmup returns the epochs in which Measured looks. The last one spreads what it has seen.
func (p ControlPlan) Warmup() int {
	length := p.Diameter + 1
	return (warmup+length-1)/length + 1
}

func newControl(plan ControlPlan, rule controlRule) (*Control, error) {
	switch {
	case plan.Diameter < 0 || plan.Every < 1 || plan.First < 0 || plan.Unit == nil:
		return nil, fmt.Errorf("moniqua: theta control: diameter %d, exchange every %d rounds, the first is %d: "+
			"want at least 0, 1 and 0, and a unit", plan.Diameter, plan.Every, plan.First)
	case !(plan.Start > 0) || math.IsInf(plan.Start, 0):
		return nil, fmt.Errorf("moniqua: theta control: start %v: must be finite and greater than 0", plan.Start)
	case !(plan.Step >= 0) || math.IsInf(plan.Step, 0):
		return nil, fmt.Errorf("moniqua: theta control: step %v: must be finite and not negative", plan.Step)
	}
	return &Control{plan: plan, rule: rule, scale: [3]float64{plan.Start, plan.Start, plan.Start}}, nil
}

// Theta returns θ_k for rounds of the present epoch, of the one before, and of the next one once its scale is known. In
// rounds of full precision the value has no meaning.
func (c *Control) Theta(k int) float64 {
	scale, _ := c.at(k / c.plan.Every)
	return scale * c.plan.Unit(k)
}

// at returns the scale of exchange x, and whether it is known: in the present epoch, in the one before, and where the
// log of views says it.
func (c *Control) at(x int) (scale float64, known bool) {
	if c.plan.Agreed != nil {
		if scale, known = c.plan.Agreed(x); known {
			return scale, true
		}
	}
	e := max(0, x-c.plan.First) / c.length()
	return c.scale[e%len(c.scale)], x >= c.plan.First && e <= c.now && e+1 >= c.now
}

// Full reports whether models travel in full precision in round k.
func (c *Control) Full(k int) bool { return c.epoch(k) < c.warm }

// agrees reports whether two workers have the same θ in round k.
func (c *Control) agrees(o *Control, k int) bool {
	e := c.epoch(k) % len(c.scale)
	return c.scale[e] == o.scale[e]
}

// length returns L.
func (c *Control) length() int { return c.plan.Diameter + 1 }

// epoch returns the epoch of round k.
func (c *Control) epoch(k int) int { return c.place(k) / c.length() }

// place returns the number of the exchange of round k, from the first one of the control on.
func (c *Control) place(k int) int { return max(0, k/c.plan.Every-c.plan.First) }

// closes reports whether the exchange of round k is the last of its epoch.
func (c *Control) closes(k int) bool { return c.place(k)%c.length() == c.length()-1 }

// bounds reports whether reach is to see the parameters of round k. One exchange of an epoch is enough.
func (c *Control) bounds(k int) bool { return !c.Full(k) && c.closes(k) }

// reach enters the magnitude of parameters that are mixed on a grid of the given step. Pieces may be mixed at the same
// time.
func (c *Control) reach(largest float32, step float64) {
	if float64(largest) >= finest*step {
		c.fine.Store(true)
	}
}

// mixed enters the gap and the repairs of the exchange of round k. The next exchange may begin afterwards.
func (c *Control) mixed(k int, notes []uint32, saw algos.Mixed, repaired int) {
	gap := float64(saw.Gap)
	if !c.Full(k) {
		gap /= c.Theta(k)
	}
	c.enter(k, gap, notes, repaired > 0)
}

// enter is mixed for a gap in units of θ.
func (c *Control) enter(k int, gap float64, notes []uint32, violation bool) {
	if c.fine.Load() {
		violation = c.fine.Swap(false) || violation
	}
	c.seen = c.seen.or(newNote(gap, violation))
	for _, n := range notes {
		c.told = c.told.or(note(n))
	}
	if !c.closes(k) {
		return
	}
	e := c.epoch(k)
	next := c.scale[e%len(c.scale)]
	if e > 0 {
		next = c.rule(c, e)
	}
	c.scale[(e+1)%len(c.scale)] = next
	c.told, c.seen, c.now = c.seen, 0, e+1
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
