package modulo

import (
	"math"

	"gossiptrainer/internal/registry"
	"gossiptrainer/moniqua"
)

// controls are the ways to choose the bound during the run.
var controls = map[string]struct {
	control func(moniqua.ControlPlan) (*moniqua.Control, error)
	// scaled says whether the bound follows the step size.
	scaled bool
}{
	"adaptive": {moniqua.Adaptive, true},
	"measured": {moniqua.Measured, false},
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
func (m *Maker) lateNews(levels int) float64 {
	news := 2 * (m.reach() + 1) // the epoch in which gaps are seen, and that in which they travel
	if m.Reweights || news <= soon || levels < fineLevels {
		return 1
	}
	return margin * math.Sqrt(math.Sqrt(float64(news)))
}

// usualUpdate is a guess at the change of a parameter in a step of an external model. It takes the place of the step
// size, so that theta starts on the small side there too.
const usualUpdate = 1. / 1024

// checkedControl returns the constructor of each worker's control, or why there can be none.
func (m *Maker) checkedControl() (laneControl, error) {
	plan, err := m.controlPlan()
	if err != nil {
		return nil, err
	}
	other, err := m.otherPlan()
	if err != nil {
		return nil, err
	}
	rule := controls[m.Algorithm.Theta.Rule].control
	if _, err = rule(plan); err != nil {
		return nil, err
	}
	return func(of registry.Lane, lane int, in *Chapter) (*moniqua.Control, error) {
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
func (m *Maker) controlPlan() (moniqua.ControlPlan, error) {
	plan, err := m.otherPlan()
	if err != nil {
		return plan, err
	}
	if m.External {
		plan.Start *= usualUpdate
	}
	plan.Unit = portable(moniqua.LargestStep(m.Step, m.Rounds, m.Algorithm.LocalSteps))
	if !controls[m.Algorithm.Theta.Rule].scaled {
		plan.Start *= plan.Unit(0)
		plan.Unit = func(int) float64 { return 1 }
	}
	return plan, nil
}

// otherPlan is controlPlan for lanes whose values do not follow the step size.
func (m *Maker) otherPlan() (moniqua.ControlPlan, error) {
	a := m.Algorithm
	grid := moniqua.Grid{Theta: 1, Levels: Levels(m.Algorithm), Rounding: m.rounding()}
	if err := grid.Check(); err != nil {
		return moniqua.ControlPlan{}, err
	}
	start := grid
	start.Levels = max(grid.Levels, startLevels)
	return moniqua.ControlPlan{
		Diameter: m.reach(), Every: a.LocalSteps, Step: grid.Step(),
		Start: m.lateNews(grid.Levels) * (startStep / start.Step()),
		Unit:  func(int) float64 { return 1 },
	}, nil
}

// reach bounds the exchanges in which a note crosses the graph. A graph that loses workers is at most as wide as a path
// of all of them. Closing gaps may take as many exchanges again.
func (m *Maker) reach() int {
	if m.Reweights {
		return 2 * m.Workers
	}
	return reachOf(m.Graph)
}
