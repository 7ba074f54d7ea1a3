package build

import (
	"slices"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/fault"
	"gossiptrainer/internal/record"
	"gossiptrainer/moniqua"
)

// thetaOf returns the bound of a machine's models by round, nil without one.
func thetaOf(r *experiment.Run, m gossip.Machine) func(k int) float64 {
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
	if r.Modulo() == nil {
		return nil
	}
	return r.Modulo().Rule()
}

// newAudit returns the audit of workers in one process: it finds wrongly recovered values even if the workers do not
// verify. It returns nil if they verify or recover nothing, or if a worker that comes back sends its messages again.
func newAudit(r *experiment.Run) *moniqua.Audit {
	cfg := r.Config()
	if r.Modulo() == nil || cfg.Algorithm.Theta.Verify ||
		slices.ContainsFunc(experiment.Script(cfg), func(f fault.Fault) bool { return f.Kind == fault.Kill }) {
		return nil
	}
	return moniqua.NewAudit()
}

// bounds returns the final bound of the worker's machine after some rounds, with its violations and repairs. A run
// without a round, whose scripts took no step, has no bound.
func (b *builder) bounds(m gossip.Machine, theta func(k int) float64, rounds int) record.Theta {
	var t record.Theta
	if theta != nil && rounds > 0 {
		t.Value = theta(rounds - 1)
	}
	if counts, ok := m.(interface{ Repairs() gossip.Repairs }); ok {
		if seen := counts.Repairs(); seen.Verified {
			t.Violations, t.Repaired = &seen.Violations, seen.Repaired
		}
	}
	if b.audit != nil {
		wrong := b.audit.Wrong(b.rank)
		t.Violations = &wrong
	}
	return t
}
