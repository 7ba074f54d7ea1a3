package experiment

import (
	"math"

	"gossiptrainer/configs"
	"gossiptrainer/gossip"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/registry"
	"gossiptrainer/moniqua"
	"gossiptrainer/topology"
)

// thetaRules are the ways to choose the bound of the modulo codec in advance.
var thetaRules = map[string]func(r *Run, rounding moniqua.Rounding) (func(k int) float64, error){
	"certified": certifiedTheta,
	"theorem":   theoremTheta,
	"fixed":     fixedTheta,
}

// thetaControls are the ways to choose it while the run goes on.
var thetaControls = map[string]struct {
	control func(moniqua.ControlPlan) (*moniqua.Control, error)
	// scaled says whether the bound follows the step size.
	scaled bool
}{
	"adaptive": {moniqua.Adaptive, true},
	"measured": {moniqua.Measured, false},
}

// defaultBound is the G_∞ of a run file that says 0.
const defaultBound = 1

// assembleTheta chooses the bound at once: that there is none for these bits on
// this graph is a mistake of the run file.
func (r *Run) assembleTheta() error {
	if !r.quantized() {
		return nil
	}
	a := r.cfg.Algorithm
	rounding, err := moniqua.ParseRounding(a.Rounding)
	if err != nil {
		return configs.Errorf("algorithm.rounding", "%v", err)
	}
	r.bound = a.Theta.Bound
	switch rule, ok := thetaRules[a.Theta.Rule]; {
	case r.Asynchronous():
		_, err = r.anyLink()
	case ok:
		r.theta, err = rule(r, rounding)
		r.theta = portable(r.theta)
	default:
		err = r.newCheckedControl(rounding)
	}
	if err != nil {
		return configs.Errorf("algorithm.theta.rule", "%v", err).
			With("algorithm.bits", "algorithm.levels", "algorithm.rounding", "algorithm.theta.value", "algorithm.theta.bound", "topology.kind", "topology.slack")
	}
	return nil
}

// portable rounds what a rule says up to a float32. Rules use functions like the
// cosine whose last bits may depend on the type of the CPU, and the theta of two
// workers must have the same bits.
func portable(theta func(k int) float64) func(k int) float64 {
	return func(k int) float64 {
		exact := theta(k)
		rounded := float32(exact)
		if float64(rounded) < exact {
			rounded = math.Nextafter32(rounded, math.MaxFloat32)
		}
		return float64(rounded)
	}
}

// startStep is the distance of grid values before anything is known of the
// gradients, in units of the step size: theta is then too small rather than too
// large, which is found and repaired at once. With fewer levels than startLevels
// theta starts as with those: the gap between neighbours knows no levels, and the
// smaller theta is against it, the longer are the repairs.
const (
	startStep   = 1. / 64
	startLevels = 256
)

// newCheckedControl enters how the control of each worker is made, if it can be.
func (r *Run) newCheckedControl(rounding moniqua.Rounding) error {
	plan, err := r.controlPlan(rounding)
	if err != nil {
		return err
	}
	other, err := r.otherPlan(rounding)
	if err != nil {
		return err
	}
	rule := thetaControls[r.cfg.Algorithm.Theta.Rule].control
	r.control = func(lane registry.Lane) (*moniqua.Control, error) {
		if lane.Models {
			return rule(plan)
		}
		return rule(other)
	}
	_, err = r.control(registry.Lane{Models: true})
	return err
}

// controlPlan returns what the control of a worker's models begins with.
func (r *Run) controlPlan(rounding moniqua.Rounding) (moniqua.ControlPlan, error) {
	plan, err := r.otherPlan(rounding)
	if err != nil {
		return plan, err
	}
	t := r.cfg.Train
	plan.Unit = portable(moniqua.LargestStep(r.schedule.At, t.Rounds, r.cfg.Algorithm.LocalSteps))
	if !thetaControls[r.cfg.Algorithm.Theta.Rule].scaled {
		plan.Start *= plan.Unit(0)
		plan.Unit = func(int) float64 { return 1 }
	}
	return plan, nil
}

// otherPlan is controlPlan for lanes whose values do not follow the step size.
func (r *Run) otherPlan(rounding moniqua.Rounding) (moniqua.ControlPlan, error) {
	a := r.cfg.Algorithm
	grid := moniqua.Grid{Theta: 1, Levels: r.levels(), Rounding: rounding}
	if err := grid.Check(); err != nil {
		return moniqua.ControlPlan{}, err
	}
	start := grid
	start.Levels = max(grid.Levels, startLevels)
	return moniqua.ControlPlan{
		Diameter: r.reach(), Every: a.LocalSteps, Start: startStep / start.Step(), Step: grid.Step(),
		Unit: func(int) float64 { return 1 },
	}, nil
}

// moniqua builds the codec of a lane of worker rank.
func (r *Run) moniqua(rank topology.Rank, lane int) (*moniqua.Codec, error) {
	a := r.cfg.Algorithm
	rounding, err := moniqua.ParseRounding(a.Rounding)
	if err != nil {
		return nil, err
	}
	c, err := r.unverified(rounding, rank, lane)
	if err != nil {
		return nil, err
	}
	c.Verify, c.Audit = a.Theta.Verify, r.audit
	if r.controlled() {
		c.Levels, c.Bits = 1<<a.Controller.MaxBits, r.chosen()
	}
	return c, nil
}

// unverified builds the codec of a lane of worker rank, which does not verify.
func (r *Run) unverified(rounding moniqua.Rounding, rank topology.Rank, lane int) (*moniqua.Codec, error) {
	if r.control == nil {
		return moniqua.New(r.levels(), rounding, r.theta, r.laneSeed(lane), rank)
	}
	control, err := r.control(r.method.Lanes()[lane])
	if err != nil {
		return nil, err
	}
	return moniqua.NewControlled(r.levels(), rounding, control, r.laneSeed(lane), rank)
}

// A bounded machine counts what its codecs got wrong.
type bounded interface{ Repairs() gossip.Repairs }

// thetaOf returns the bound of a machine's models by round, nil without one.
func (r *Run) thetaOf(m gossip.Machine) func(k int) float64 {
	switch m := m.(type) {
	case *gossip.Worker:
		if c, ok := m.Codec(0).(*moniqua.Codec); ok {
			return c.Theta
		}
	case *gossip.PairWorker:
		if c, ok := m.Codec().(*moniqua.PairCodec); ok {
			return func(int) float64 { return c.Control().Theta() }
		}
	}
	return r.theta
}

// audited returns the run with workers that are in one process: what they recover
// wrongly is known there even if they do not verify.
func (r *Run) audited() *Run {
	own := *r
	if r.quantized() && !r.cfg.Algorithm.Theta.Verify && !r.kills() { // who comes back sends once more
		own.audit = moniqua.NewAudit()
	}
	return &own
}

// bounds says what became of the bound of a machine that has done some rounds.
func (r *Run) bounds(rank topology.Rank, m gossip.Machine, theta func(k int) float64, rounds int) record.Theta {
	var t record.Theta
	if theta != nil {
		t.Value = theta(rounds - 1)
	}
	if b, ok := m.(bounded); ok {
		if seen := b.Repairs(); seen.Verified {
			t.Violations, t.Repaired = &seen.Violations, seen.Repaired
		}
	}
	if r.audit != nil {
		wrong := r.audit.Wrong(rank)
		t.Violations = &wrong
	}
	return t
}

func fixedTheta(r *Run, _ moniqua.Rounding) (func(k int) float64, error) {
	return moniqua.Fixed(r.cfg.Algorithm.Theta.Value)
}

func certifiedTheta(r *Run, rounding moniqua.Rounding) (func(k int) float64, error) {
	spectrum, updates, err := r.bounded()
	if err != nil {
		return nil, err
	}
	certificate, err := r.certificate(spectrum, rounding)
	if err != nil {
		return nil, err
	}
	return certificate.Rule(updates)
}

func theoremTheta(r *Run, _ moniqua.Rounding) (func(k int) float64, error) {
	spectrum, updates, err := r.bounded()
	if err != nil {
		return nil, err
	}
	return moniqua.Theorem{Workers: r.N(), Rho: spectrum.Rho}.Rule(updates)
}

// bounded bounds the update direction, as both rules that compute theta need
// it, and returns what else they need.
func (r *Run) bounded() (topology.Spectrum, moniqua.Updates, error) {
	if r.bound == 0 {
		r.bound = defaultBound
	}
	spectrum, err := r.spectrum()
	return spectrum, moniqua.Updates{
		Step: r.schedule.At, Rounds: r.cfg.Train.Rounds, Bound: r.bound, Every: r.cfg.Algorithm.LocalSteps,
	}, err
}
