package moniqua

import (
	"fmt"
	"math"

	"gossiptrainer/algos"
	"gossiptrainer/gossip/state"
)

// A PairControl chooses θ for the exchanges that one worker of AD-PSGD offers, on all its links. No other worker has to
// agree, so the rules of Control apply with epochs of one exchange.
//
// A worker has one control for all links, not one for each. It offers only a part of the exchanges of a link, too few
// to learn from in a run of some hundred steps. Its own gradients drive it from all neighbours alike.
type PairControl struct {
	unit    func(clock int) float64 // θ, or with control the unit of θ
	control *Control                // nil if θ is known in advance
	seen    int                     // exchanges that control has learnt from
	theta   float64                 // of the last exchange offered
}

// Bounds of the θ of an exchange: float32 models that train stay far within.
const (
	smallestPairTheta = 0x1p-100
	largestPairTheta  = 0x1p+100
)

// checkPairTheta returns the reason why an exchange cannot have this θ, or nil.
func checkPairTheta(theta float64) error {
	if !(theta >= smallestPairTheta && theta <= largestPairTheta) {
		return fmt.Errorf("moniqua: theta %v of an exchange: must be %.3g to %.3g", theta, smallestPairTheta,
			largestPairTheta)
	}
	return nil
}

// NewPairFixed returns the control of a θ that never changes, rounded up to a float32, or the reason why θ is invalid.
func NewPairFixed(theta float64) (*PairControl, error) {
	if err := checkPairTheta(theta); err != nil {
		return nil, err
	}
	exact := float32(theta)
	if float64(exact) < theta {
		exact = math.Nextafter32(exact, math.MaxFloat32)
	}
	return &PairControl{unit: func(int) float64 { return float64(exact) }, theta: float64(exact)}, nil
}

// NewPairControl returns the control of one worker by a rule, Adaptive or Measured. It uses Start, Step and Unit of the
// plan. The argument of Unit is the mean number of steps per worker.
func NewPairControl(rule func(ControlPlan) (*Control, error), plan ControlPlan) (*PairControl, error) {
	alone := ControlPlan{Every: 1, Start: plan.Start, Step: plan.Step, Unit: func(int) float64 { return 1 }}
	if plan.Unit == nil {
		alone.Unit = nil // makes the rule report the missing unit
	}
	control, err := rule(alone)
	return &PairControl{unit: plan.Unit, control: control}, err
}

// Theta returns the θ of the last offered exchange, 0 in full precision and before the first.
func (c *PairControl) Theta() float64 { return c.theta }

// choose returns the θ of the next exchange, the value of a float32; 0 for full precision.
func (c *PairControl) choose(clock int) float64 {
	c.theta = c.unit(clock)
	if c.control != nil {
		c.theta *= c.control.Theta(c.seen)
		c.theta = float64(float32(min(max(c.theta, smallestPairTheta), largestPairTheta)))
		if c.control.Full(c.seen) {
			c.theta = 0
		}
	}
	return c.theta
}

// ended enters the gap and the repairs of an exchange; unit is that of its offer.
func (c *PairControl) ended(unit float64, saw algos.Mixed, repaired int) {
	if c.control == nil {
		return
	}
	saw.Gap = float32(float64(saw.Gap) / unit)
	c.control.mixed(c.seen, nil, saw, repaired)
	c.seen++
}

// reach enters the magnitude of the model that this worker offers.
func (c *PairControl) reach(largest float32, step float64) {
	if c.control != nil {
		c.control.reach(largest, step)
	}
}

// measures reports whether the first exchanges travel in full precision.
func (c *PairControl) measures() bool { return c.control != nil && c.control.warm > 0 }

// State shows the state of control.
func (c *PairControl) State(v *state.Visit) {
	v.Double("theta", &c.theta)
	if c.control != nil {
		state.Int(v, "seen", &c.seen, 0, math.MaxInt)
		v.Part("control", c.control)
	}
}
