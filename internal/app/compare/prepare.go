package compare

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"gossiptrainer/configs"
	"gossiptrainer/internal/app/preflight"
	"gossiptrainer/internal/app/session"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/report"
	"gossiptrainer/internal/shape"
)

// prepare loads every cell, measures the time of a gradient for the simulator, and searches for the values to tune.
func (m *Matrix) prepare(ctx context.Context) error {
	for _, cell := range m.cells {
		loaded, err := m.load(firstChoice(cell))
		if err != nil {
			return err
		}
		if err := m.checkScript(cell, loaded); err != nil {
			return m.inCell(cell, err)
		}
		run, err := preflight.Assemble(loaded)
		if err != nil {
			return m.inCell(cell, err)
		}
		if err := m.checkInside(cell, loaded, run); err != nil {
			return err
		}
		if err := run.FindData(); err != nil {
			return err
		}
		if err := m.endsOf(cell, run); err != nil {
			return err
		}
		m.network(cell, run.Network().Uplink)
		if err := m.fingerprint(loaded.Config); err != nil {
			return fmt.Errorf("compare: %w", err)
		}
		m.needs = max(m.needs, int64(run.N())*run.Memory())
		m.timed[cell.Label] = run.Timed() || len(run.Script()) > 0 // whose cells share no gradients
		if m.file.Mode == "sim" {
			if err := m.cost(ctx, cell, run); err != nil {
				return err
			}
		}
	}
	if err := m.tune(ctx); err != nil {
		return err
	}
	m.bound()
	if err := m.noteScript(); err != nil {
		return fmt.Errorf("compare: %w", err)
	}
	return m.keepFiles()
}

// checkInside refuses a model that sim cannot train, where sim runs the cell or searches for its values.
func (m *Matrix) checkInside(cell configs.Cell, loaded *configs.Loaded, run *experiment.Run) error {
	if m.file.Mode != "sim" && len(cell.Tune) == 0 {
		return nil
	}
	if err := run.CheckInside(); err != nil {
		return m.inCell(cell, loaded.Locate(err))
	}
	return nil
}

// firstChoice returns the cell with the first choice of every value to tune. The defaults in their place may not be
// legal for it.
func firstChoice(cell configs.Cell) configs.Cell {
	cell.Set = slices.Clone(cell.Set)
	for _, choice := range cell.Tune {
		cell.Set = append(cell.Set, configs.Override{Key: choice.Key, Value: choice.Values[0]})
	}
	return cell
}

// endsOf checks the ending of a cell.
func (m *Matrix) endsOf(cell configs.Cell, run *experiment.Run) error {
	ends, err := session.ParseUntil("compare", configs.Arguments(cell.Until))
	m.result.Until = ends.String()
	if err == nil {
		err = ends.Check(run)
	}
	if err != nil {
		return m.inCell(cell, err)
	}
	return nil
}

// network notes the properties of a cell's network.
func (m *Matrix) network(cell configs.Cell, link shape.Link) {
	if slices.ContainsFunc(m.result.Networks, func(n report.Network) bool { return n.Name == cell.Network }) {
		return
	}
	m.result.Networks = append(m.result.Networks, report.Network{
		Name: cell.Network, Rate: link.Rate, Latency: link.Latency.Seconds(),
	})
}

// tune searches the open values of algorithms and takes those with the least training loss. It uses sim, the first
// network of each, and the seed of the search.
func (m *Matrix) tune(ctx context.Context) error {
	for _, cell := range m.cells {
		if _, known := m.tuned[cell.Label]; known || len(cell.Tune) == 0 {
			continue
		}
		best, least := []string(nil), math.Inf(1)
		combinations := configs.Combinations(cell.Tune)
		for i, choice := range combinations {
			loss, err := m.try(ctx, cell, i, choice)
			if err != nil {
				return err
			}
			chosen := configs.Arguments(choice)
			m.say("tuning %s: %s: training loss %s", cell.Label, strings.Join(chosen, " "), short(loss))
			if loss < least {
				best, least = chosen, loss
			}
		}
		if best == nil {
			return fmt.Errorf("compare: tuning %s: it diverged with all %d settings", cell.Label, len(combinations))
		}
		m.tuned[cell.Label] = best
	}
	return nil
}

// try returns the final training loss of a short run, infinite if it diverges. The run is a cell beside the requested
// ones.
func (m *Matrix) try(ctx context.Context, cell configs.Cell, i int, choice []configs.Override) (float64, error) {
	loaded, err := m.load(cell)
	if err != nil {
		return 0, err
	}
	const share = 4 // of the rounds
	rounds := m.file.Tuning.Rounds
	if rounds == 0 {
		rounds = max(1, loaded.Config.Train.Rounds/share)
	}
	cell.Network, cell.Seed, cell.Until = fmt.Sprintf("tuning-%d", i), m.file.Tuning.Seed, nil
	cell.Set = slices.Concat(cell.Set, choice)
	short := *m
	short.pace = &pace{jobs: 1} // of all cells nothing is known yet
	short.Set = slices.Concat(m.Set, []string{fmt.Sprintf("seed=%d", cell.Seed)}, loaded.Config.Shortened(rounds))
	const mode = "sim"
	done, err := short.finished(mode, cell)
	if err == nil && done == nil {
		done = new(report.Cell)
		*done, err = short.runCell(ctx, mode, cell)
	}
	switch {
	case err != nil:
		return 0, err
	case done.Status == report.CellDiverged:
		return math.Inf(1), nil
	case done.Status == report.CellFailed:
		return 0, fmt.Errorf("compare: %s: %s", cell, done.Error)
	}
	return done.TrainLoss, nil
}

func short(loss float64) string {
	if math.IsInf(loss, 0) {
		return "diverged"
	}
	return fmt.Sprintf("%.4f", loss)
}
