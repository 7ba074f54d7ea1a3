package modulo

import (
	"gossiptrainer/configs"
	"gossiptrainer/internal/bits"
	"gossiptrainer/moniqua"
)

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
