// Package modulo chooses the bound θ of a run's modulo codec and makes the codecs of its workers.
package modulo

import (
	"gossiptrainer/configs"
	"gossiptrainer/internal/bits"
	"gossiptrainer/internal/registry"
	"gossiptrainer/moniqua"
	"gossiptrainer/topology"
)

// A Maker makes the codecs of a run whose models travel as symbols.
type Maker struct {
	Algorithm configs.Algorithm
	Method    registry.Algorithm
	Settings  registry.Settings
	Seed      uint64
	Graph     *topology.Graph
	Workers   int
	Reweights bool // workers go on without lost ones
	External  bool // a script takes the local steps
	Rounds    int
	Step      func(k int) float64 // α_k
	Bound     float64             // on the update directions of all workers, 0 = none
	Dim       int                 // parameters of the model
	Exact     int                 // trailing ones that travel in full precision

	Theta   []func(k int) float64 // that Choose chooses, by lane; nil under control
	control laneControl
}

// FullBits are the bits per parameter of full precision.
const FullBits = 32

// Uses says whether models travel as symbols of the modulo codec.
func Uses(method registry.Algorithm, a configs.Algorithm) bool {
	return method.ByMoniqua() && a.Codec == registry.Moniqua && a.Bits != FullBits
}

// Choose chooses the source of the bound: a rule of each lane by the round, or a control of each worker. Links of pairs
// have controls of their own. It computes the bound at once, because bits without a bound on this graph are a mistake
// in the run file. The size of the model plays no part. An error is a *configs.Error at its key.
func (m *Maker) Choose() (err error) {
	a := m.Algorithm
	if _, err = moniqua.ParseRounding(a.Rounding); err != nil {
		return configs.Errorf("algorithm.rounding", "%v", err)
	}
	switch choose, ok := rules[a.Theta.Rule]; {
	case m.Method.Asynchronous():
		_, err = m.anyLink()
	case ok:
		m.Theta, err = choose(m)
		for lane := range m.Theta {
			m.Theta[lane] = portable(m.Theta[lane])
		}
	default:
		m.control, err = m.checkedControl()
	}
	if err != nil {
		return configs.Errorf("algorithm.theta.rule", "%v", err).
			With("algorithm.bits", "algorithm.levels", "algorithm.rounding", "algorithm.theta.value",
				"algorithm.theta.second", "algorithm.theta.bound", "topology.kind", "topology.slack")
	}
	return nil
}

// rounding returns the rounding to the grid, whose name Choose has checked.
func (m *Maker) rounding() moniqua.Rounding {
	rounding, _ := moniqua.ParseRounding(m.Algorithm.Rounding)
	return rounding
}

// UnitGrid is the grid of theta = 1 with the fewest levels that a run may use.
func UnitGrid(a configs.Algorithm) (moniqua.Grid, error) {
	rounding, err := moniqua.ParseRounding(a.Rounding)
	grid := moniqua.Grid{Theta: 1, Levels: Levels(a), Rounding: rounding}
	if err == nil {
		err = grid.Check()
	}
	if err != nil {
		return grid, configs.Errorf("algorithm.rounding", "%v", err).With("algorithm.bits", "algorithm.levels")
	}
	return grid, nil
}

// Levels returns the N of the codec, the smallest where it changes: a bound for coarse values holds for fine ones.
func Levels(a configs.Algorithm) int {
	if bits.Controlled(a.Controller) {
		return 1 << a.Controller.MinBits
	}
	if a.Levels > 0 {
		return a.Levels
	}
	return 1 << a.Bits
}

// InRun reports whether members choose the bound in the run: all alike, or each worker of pairs its own.
func (m *Maker) InRun() bool {
	_, own := controls[m.Algorithm.Theta.Rule]
	return m.control != nil || m.Method.Asynchronous() && own
}

// Certifies reports whether the bound is certified, and the sums of a graph say all about it: those of views add up. A
// nil Maker has no bound.
func (m *Maker) Certifies() bool {
	return m != nil && m.Algorithm.Theta.Rule == "certified" && m.Method.Theta.Theorem
}

// Rule returns the bound of models by round, nil where it is no rule.
func (m *Maker) Rule() func(k int) float64 {
	if len(m.Theta) == 0 {
		return nil
	}
	return m.Theta[0]
}

// Fixed returns the N of the codec where the run file fixes its grid. It returns 0 without the codec, and where N or θ
// change during the run, because such a run corrects values that are far too large.
func (m *Maker) Fixed() int {
	if m == nil || bits.Controlled(m.Algorithm.Controller) || m.Algorithm.Theta.Rule == "adaptive" {
		return 0
	}
	return Levels(m.Algorithm)
}
