package compare

import (
	"context"
	"time"

	"gossiptrainer/app/session"
	"gossiptrainer/configs"
	"gossiptrainer/internal/cost"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/lab/rehearse"
)

// cost determines the costs of a simulated cell's algorithm: as given, as measured when the comparison began, or as
// measured now for a run. All its cells have the same.
func (m *Matrix) cost(ctx context.Context, cell configs.Cell, run *experiment.Run) error {
	compute, err := cost.Parse(cell.Compute)
	if err != nil {
		return err
	}
	costs, known := m.known(cell.Label, compute)
	switch {
	case known:
	case compute.Measured:
		if costs, err = rehearse.Measure(ctx, run, m.measureLinks); err != nil {
			return m.inCell(cell, err)
		}
		m.say("%s: compute: %v", cell.Label, costs)
	default:
		if costs.Gradient, err = rehearse.Gradient(run, session.Gradients); err != nil {
			return err
		}
		m.say("a gradient takes %v on this machine: the virtual time of all cells",
			costs.Gradient.Round(time.Microsecond))
	}
	m.costs[cell.Label] = costs
	if m.result.Compute == 0 {
		m.result.Compute = costs.Gradient.Seconds()
	}
	if costs.Coding() {
		m.result.Costs[cell.Label] = costs.String()
	}
	if m.result.Measured = m.result.Measured || !given(compute); !known {
		return m.Save() // so that the cells of a later start have the same
	}
	return nil
}

func given(c cost.Compute) bool { return c.Given() && !c.Measured }

// known returns the costs of a label if they are given, or were measured when the comparison began.
func (m *Matrix) known(label string, compute cost.Compute) (cost.Costs, bool) {
	if costs, known := m.costs[label]; known {
		return costs, true
	}
	switch {
	case given(compute):
		return compute.Costs, true
	case compute.Measured:
		before, err := cost.Parse(m.before.Costs[label])
		return before.Costs, err == nil && before.Coding()
	case m.result.Compute > 0: // all labels share a gradient
		return cost.Costs{Gradient: seconds(m.result.Compute)}, true
	}
	return cost.Costs{Gradient: seconds(m.before.Compute)}, m.before.Measured && m.before.Compute > 0
}

// measureLinks measures the costs of links once for all algorithms.
func (m *Matrix) measureLinks(ctx context.Context) (_ cost.Costs, err error) {
	if m.links == (cost.Costs{}) {
		m.links, err = m.Process.Links(ctx)
	}
	return m.links, err
}
