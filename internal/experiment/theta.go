package experiment

import (
	"fmt"
	"math"
	"slices"

	"gossiptrainer/configs"
	"gossiptrainer/gossip"
	"gossiptrainer/internal/fault"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/registry"
	"gossiptrainer/moniqua"
	"gossiptrainer/topology"
)

// thetaRules are the ways to choose the bound of the modulo codec in advance.
var thetaRules = map[string]func(r *Run) ([]func(k int) float64, error){
	"certified": certifiedTheta,
	"theorem":   theoremTheta,
	"fixed":     fixedTheta,
}

// thetaControls are the ways to choose it during the run.
var thetaControls = map[string]struct {
	control func(moniqua.ControlPlan) (*moniqua.Control, error)
	// scaled says whether the bound follows the step size.
	scaled bool
}{
	"adaptive": {moniqua.Adaptive, true},
	"measured": {moniqua.Measured, false},
}

// A thetaControl makes the control of θ of a lane, in a view of a run whose members come and go; nil: there are none.
type thetaControl func(of registry.Lane, lane int, in *chapter) (*moniqua.Control, error)

// defaultBound is the G_∞ that the value 0 in a run file stands for. Of optimizers whose directions have a bound it is
// that bound, and the weight decay of a parameter of this size.
const defaultBound = 1

// chooseTheta returns the source of the bound: a rule of each lane by the round, or a control of each worker. It
// returns neither in full precision, and where links have controls of their own. It computes the bound at once, because
// bits without a bound on this graph are a mistake in the run file.
func (r *Run) chooseTheta() (
	rules []func(k int) float64, control thetaControl, err error,
) {
	if !r.quantized() {
		return nil, nil, nil
	}
	a := r.cfg.Algorithm
	if _, err = moniqua.ParseRounding(a.Rounding); err != nil {
		return nil, nil, configs.Errorf("algorithm.rounding", "%v", err)
	}
	switch choose, ok := thetaRules[a.Theta.Rule]; {
	case r.Asynchronous():
		_, err = r.anyLink()
	case ok:
		rules, err = choose(r)
		for lane := range rules {
			rules[lane] = portable(rules[lane])
		}
	default:
		control, err = r.checkedControl()
	}
	if err != nil {
		return nil, nil, configs.Errorf("algorithm.theta.rule", "%v", err).
			With("algorithm.bits", "algorithm.levels", "algorithm.rounding", "algorithm.theta.value",
				"algorithm.theta.second", "algorithm.theta.bound", "topology.kind", "topology.slack")
	}
	return rules, control, nil
}

// updateBound returns the bound on the update direction of a worker of weight 1, 0 for none. Rules that compute theta
// need one.
func (r *Run) updateBound() float64 {
	theta := r.cfg.Algorithm.Theta
	switch {
	case !r.quantized():
		return 0
	case theta.Bound == 0 && !r.Asynchronous() && (theta.Rule == "certified" || theta.Rule == "theorem"):
		if c := r.directions().DirectionBound(); c > 0 {
			return c + r.cfg.Train.WeightDecay*defaultBound
		}
		return defaultBound
	}
	return theta.Bound
}

// largestBound returns a bound on the update directions of all workers, 0 for none. The direction of a worker is
// clipped to the bound times its weight, so a certificate holds with the largest weight. It reads the labels only where
// both are there.
func (r *Run) largestBound() (float64, error) {
	bound := r.updateBound()
	if bound == 0 || r.data == nil || !r.cfg.Data.Weighted() {
		return bound, nil
	}
	weights, err := r.data.Weights()
	if err != nil {
		return 0, err
	}
	return bound * slices.Max(weights), nil
}

// rounding returns the rounding to the grid, whose name chooseTheta has checked.
func (r *Run) rounding() moniqua.Rounding {
	rounding, _ := moniqua.ParseRounding(r.cfg.Algorithm.Rounding)
	return rounding
}

// portable rounds the values of a rule up to a float32. Rules use functions like the cosine whose last bits may depend
// on the CPU, and all workers need the same bits of theta.
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

// startStep is the distance of grid values before any gradient is known, in units of the step size. It errs on the
// small side: a theta that is too small is found and repaired at once. With fewer levels than startLevels theta starts
// as with startLevels. The gap between neighbours does not depend on the levels, and repairs grow as theta shrinks
// against it.
const (
	startStep   = 1. / 64
	startLevels = 256
)

// Gaps grow while no news of them can arrive: differences of gradients add up, at most as the fourth root of the
// exchanges so far, see docs/math.md#adaptive. So the start is larger where news takes more than soon exchanges, by
// that root and a margin. With fewer than fineLevels levels a coarser grid would cost more than repairs.
const (
	soon       = 16
	margin     = 1.25
	fineLevels = 64
)

// lateNews returns the factor on the start of theta for a number of levels.
func (r *Run) lateNews(levels int) float64 {
	news := 2 * (r.reach() + 1) // the epoch in which gaps are seen, and that in which they travel
	if r.Reweights() || news <= soon || levels < fineLevels {
		return 1
	}
	return margin * math.Sqrt(math.Sqrt(float64(news)))
}

// usualUpdate is a guess at the change of a parameter in a step of an external model. It takes the place of the step
// size, so that theta starts on the small side there too.
const usualUpdate = 1. / 1024

// checkedControl returns the constructor of each worker's control, or why there can be none.
func (r *Run) checkedControl() (thetaControl, error) {
	plan, err := r.controlPlan()
	if err != nil {
		return nil, err
	}
	other, err := r.otherPlan()
	if err != nil {
		return nil, err
	}
	rule := thetaControls[r.cfg.Algorithm.Theta.Rule].control
	if _, err = rule(plan); err != nil {
		return nil, err
	}
	return func(of registry.Lane, lane int, in *chapter) (*moniqua.Control, error) {
		own := other
		if of.Models {
			own = plan
		}
		if in != nil {
			own = in.control(own, lane)
		}
		return rule(own)
	}, nil
}

// controlPlan returns the initial plan for the control of a worker's models.
func (r *Run) controlPlan() (moniqua.ControlPlan, error) {
	plan, err := r.otherPlan()
	if err != nil {
		return plan, err
	}
	if r.cfg.External() {
		plan.Start *= usualUpdate
	}
	t := r.cfg.Train
	plan.Unit = portable(moniqua.LargestStep(r.schedule.At, int(t.Rounds), r.cfg.Algorithm.LocalSteps))
	if !thetaControls[r.cfg.Algorithm.Theta.Rule].scaled {
		plan.Start *= plan.Unit(0)
		plan.Unit = func(int) float64 { return 1 }
	}
	return plan, nil
}

// otherPlan is controlPlan for lanes whose values do not follow the step size.
func (r *Run) otherPlan() (moniqua.ControlPlan, error) {
	a := r.cfg.Algorithm
	grid := moniqua.Grid{Theta: 1, Levels: r.levels(), Rounding: r.rounding()}
	if err := grid.Check(); err != nil {
		return moniqua.ControlPlan{}, err
	}
	start := grid
	start.Levels = max(grid.Levels, startLevels)
	return moniqua.ControlPlan{
		Diameter: r.reach(), Every: a.LocalSteps, Step: grid.Step(),
		Start: r.lateNews(grid.Levels) * (startStep / start.Step()),
		Unit:  func(int) float64 { return 1 },
	}, nil
}

// moniqua builds the codec of a lane of the worker.
func (b *builder) moniqua(lane int) (*moniqua.Codec, error) {
	a := b.cfg.Algorithm
	c, err := b.unverified(lane)
	if err != nil {
		return nil, err
	}
	c.Verify, c.Audit, c.Exact = a.Theta.Verify, b.beside.audit, b.exact
	if b.rows != nil {
		c.Behind(b.rows.Behind())
	}
	if b.controlled() {
		c.Levels, c.Bits = 1<<a.Controller.MaxBits, b.chosen()
	}
	return c, nil
}

// unverified builds the codec of a lane of the worker, which does not verify.
func (b *builder) unverified(lane int) (*moniqua.Codec, error) {
	if b.control == nil {
		theta := b.theta
		if b.choice.chapter != nil && b.choice.chapter.theta != nil {
			theta = b.choice.chapter.theta
		}
		return moniqua.New(b.levels(), b.rounding(), theta[lane], b.laneSeed(lane), b.rank)
	}
	control, err := b.control(b.method.Lanes()[lane], lane, b.choice.chapter)
	if err != nil {
		return nil, err
	}
	return moniqua.NewControlled(b.levels(), b.rounding(), control, b.laneSeed(lane), b.rank)
}

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
	if len(r.theta) == 0 {
		return nil
	}
	return r.theta[0]
}

// newAudit returns the audit of workers in one process: it finds wrongly recovered values even if the workers do not
// verify. It returns nil if they verify or recover nothing, or if a worker that comes back sends its messages again.
func (r *Run) newAudit() *moniqua.Audit {
	if !r.quantized() || r.cfg.Algorithm.Theta.Verify ||
		slices.ContainsFunc(r.Script(), func(f fault.Fault) bool { return f.Kind == fault.Kill }) {
		return nil
	}
	return moniqua.NewAudit()
}

// bounds returns the final bound of the worker's machine after some rounds, with its violations and repairs.
func (b *builder) bounds(m gossip.Machine, theta func(k int) float64, rounds int) record.Theta {
	var t record.Theta
	if theta != nil {
		t.Value = theta(rounds - 1)
	}
	if counts, ok := m.(interface{ Repairs() gossip.Repairs }); ok {
		if seen := counts.Repairs(); seen.Verified {
			t.Violations, t.Repaired = &seen.Violations, seen.Repaired
		}
	}
	if b.beside.audit != nil {
		wrong := b.beside.audit.Wrong(b.rank)
		t.Violations = &wrong
	}
	return t
}

func fixedTheta(r *Run) ([]func(k int) float64, error) {
	values := []float64{r.cfg.Algorithm.Theta.Value, r.cfg.Algorithm.Theta.Second}
	rules := make([]func(k int) float64, len(r.method.Lanes()))
	for lane := range rules {
		var err error
		if rules[lane], err = moniqua.Fixed(values[lane]); err != nil {
			return nil, err
		}
	}
	return rules, nil
}

func certifiedTheta(r *Run) ([]func(k int) float64, error) {
	spectrum, updates, err := r.bounded()
	if err != nil {
		return nil, err
	}
	certificate, err := r.certificate(spectrum)
	if err != nil {
		return nil, err
	}
	if r.method.Theta.Tracks {
		all, err := r.graph.AllPathSums()
		if err != nil {
			return nil, err
		}
		models, directions, err := moniqua.Tracked{Certified: certificate, AllS1: all.S1}.Rules(updates)
		return []func(int) float64{models, directions}, err
	}
	return alone(certificate.Rule(updates))
}

// alone returns the rule of the only lane.
func alone(rule func(k int) float64, err error) ([]func(k int) float64, error) {
	return []func(k int) float64{rule}, err
}

func theoremTheta(r *Run) ([]func(k int) float64, error) {
	if kind := r.graph.Spec().Kind; !kind.Static() {
		return nil, fmt.Errorf("experiment: the theorem has no bound for a graph that changes or is directed, like %s: "+
			"use the rule certified or adaptive", kind)
	}
	spectrum, updates, err := r.bounded()
	if err != nil {
		return nil, err
	}
	return alone(moniqua.Theorem{Workers: r.N(), Rho: spectrum.Rho}.Rule(updates))
}

// bounded returns the bounded updates and the spectrum, which both rules that compute theta need.
func (r *Run) bounded() (topology.Spectrum, moniqua.Updates, error) {
	spectrum, err := r.spectrum()
	return spectrum, moniqua.Updates{
		Step: r.schedule.At, Rounds: int(r.cfg.Train.Rounds), Bound: r.bound, Every: r.cfg.Algorithm.LocalSteps,
	}, err
}
