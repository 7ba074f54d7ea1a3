package compare

import (
	"context"
	"time"

	"gossiptrainer/configs"
	"gossiptrainer/internal/app/rehearsal"
	"gossiptrainer/internal/app/session"
	"gossiptrainer/internal/cost"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/report"
)

// cost determines the costs of a simulated cell's algorithm: as given, as measured when the comparison began, or as
// measured now for a run. All its cells have the same.
func (m *Matrix) cost(ctx context.Context, cell configs.Cell, run *experiment.Run) error {
	if _, known := m.costs[cell.Label]; known {
		return nil
	}
	before := m.before()
	compute, err := cost.Parse(cell.Compute)
	costs := compute.Costs
	switch {
	case err != nil || compute.Given() && !compute.Measured:
	case compute.Measured:
		costs, err = m.measureAll(ctx, cell, run, before)
	default:
		costs, err = m.measureGradient(run, before)
	}
	if err != nil {
		return err
	}
	m.costs[cell.Label] = costs
	if m.result.Compute == 0 {
		m.result.Compute = costs.Gradient.Seconds()
	}
	if costs.Coding() {
		if m.result.Costs == nil {
			m.result.Costs = map[string]string{}
		}
		m.result.Costs[cell.Label] = costs.String()
	}
	if m.result.Measured {
		return m.Save() // so that the cells of a later start have the same
	}
	return nil
}

// before returns the comparison in the folder, if it had the same base. Its measurements hold.
func (m *Matrix) before() report.Comparison {
	if before, err := report.ReadComparison(m.Dir); err == nil && before.Measured && before.Base == m.result.Base {
		return *before
	}
	return report.Comparison{}
}

// measureGradient measures the time of a gradient once for all algorithms.
func (m *Matrix) measureGradient(run *experiment.Run, before report.Comparison) (cost.Costs, error) {
	m.result.Measured = true
	for _, known := range []float64{m.result.Compute, before.Compute} {
		if known > 0 {
			return cost.Costs{Gradient: seconds(known)}, nil
		}
	}
	took, err := run.MeasureGradient(session.Gradients)
	if err != nil {
		return cost.Costs{}, err
	}
	m.say("a gradient takes %v on this machine: the virtual time of all cells", took.Round(time.Microsecond))
	return cost.Costs{Gradient: took}, nil
}

// measureAll measures the costs of an algorithm.
func (m *Matrix) measureAll(ctx context.Context, cell configs.Cell, run *experiment.Run, before report.Comparison) (
	cost.Costs, error) {
	m.result.Measured = true
	if known, err := cost.Parse(before.Costs[cell.Label]); err == nil && known.Coding() {
		return known.Costs, nil
	}
	costs, err := rehearsal.Measure(ctx, run, m.measureLinks)
	if err != nil {
		return cost.Costs{}, m.inCell(cell, err)
	}
	m.say("%s: compute: %v", cell.Label, costs)
	return costs, nil
}

// measureLinks measures the costs of links once for all algorithms.
func (m *Matrix) measureLinks(ctx context.Context) (_ cost.Costs, err error) {
	if m.links == (cost.Costs{}) {
		m.links, err = m.Process.Links(ctx)
	}
	return m.links, err
}
