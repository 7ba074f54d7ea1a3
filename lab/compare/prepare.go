package compare

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gossiptrainer/app/session"
	"gossiptrainer/configs"
	"gossiptrainer/internal/cells"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/forecast"
)

// prepare loads every cell, measures the time of a gradient for the simulator, and searches for the values to tune.
func (m *Matrix) prepare(ctx context.Context) error {
	shown := m.Progress()
	defer shown.Clear()
	quickest := map[string]*experiment.Run{} // by label: on the network with the quickest links
	for i, cell := range m.cells {
		shown.Tell(fmt.Sprintf("preparing cell %d of %d", i+1, len(m.cells)), time.Now())
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		run, err := m.assemble(cell)
		if err != nil {
			return err
		}
		if known := quickest[cell.Label]; known == nil || forecast.OnLinks(run) < forecast.OnLinks(known) {
			quickest[cell.Label] = run
		}
	}
	if short := m.noRoom(nil); short.Short() {
		return short
	}
	if m.file.Mode == "sim" {
		for _, cell := range m.cells {
			shown.Tell("preparing the costs of "+cell.Label, time.Now())
			if err := m.cost(ctx, cell, quickest[cell.Label]); err != nil {
				return err
			}
		}
	}
	m.bound()
	if err := m.tune(ctx); err != nil {
		return err
	}
	if err := m.describe(); err != nil {
		return err
	}
	if err := m.noteScript(); err != nil {
		return fmt.Errorf("compare: %w", err)
	}
	return m.keepFiles()
}

// assemble builds the run of a cell, checks it, and notes what it needs.
func (m *Matrix) assemble(cell configs.Cell) (*experiment.Run, error) {
	loaded, err := m.load(firstChoice(cell))
	if err != nil {
		return nil, err
	}
	if err := m.checkScript(cell, loaded); err != nil {
		return nil, m.inCell(cell, err)
	}
	run, err := session.Assemble(loaded)
	if err != nil {
		return nil, m.inCell(cell, err)
	}
	if err := checkInside(m.file.Mode, cell, loaded, run); err != nil {
		return nil, m.inCell(cell, err)
	}
	if err := run.Data().Find(); err != nil {
		return nil, err
	}
	if err := m.endsOf(cell, run); err != nil {
		return nil, m.inCell(cell, err)
	}
	if !slices.ContainsFunc(m.result.Networks, func(n cells.Network) bool { return n.Name == cell.Network }) {
		link := run.Network().Uplink
		m.result.Networks = append(m.result.Networks, cells.Network{
			Name: cell.Network, Rate: link.Rate, Latency: link.Latency.Seconds(),
		})
	}
	if err := m.fingerprint(loaded.Config); err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	m.room.needs = max(m.room.needs, int64(run.N())*forecast.Memory(run))
	m.room.leaves = max(m.room.leaves, session.Least(run, m.file.Mode))
	// such cells cannot share gradients
	m.timed[cell.Label] = experiment.Timed(run) || len(run.Config().Faults.Script) > 0
	return run, nil
}

// describe notes how the cells of every algorithm on every network are made, with the values that were searched.
func (m *Matrix) describe() error {
	m.result.Setups = nil
	var all []map[string]string
	for _, cell := range m.cells {
		if cell.Seed != m.file.Seeds[0] {
			continue
		}
		loaded, err := m.load(cell)
		if err != nil {
			return err
		}
		run, err := session.Assemble(loaded)
		if err != nil {
			return m.inCell(cell, err)
		}
		setup := setupOf(run)
		setup.Label, setup.Network = cell.Label, cell.Network
		m.result.Setups = append(m.result.Setups, setup)
		all = append(all, described(loaded.Config))
	}
	m.result.Settings = common(all)
	for i, settings := range all {
		m.result.Setups[i].Settings = settings
	}
	return nil
}

// checkInside refuses a model that sim cannot train, where sim runs the cell or searches for its values.
func checkInside(mode string, cell configs.Cell, loaded *configs.Loaded, run *experiment.Run) error {
	if mode != "sim" && len(cell.Tune) == 0 {
		return nil
	}
	return loaded.Locate(experiment.CheckInside(run.Config()))
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
	return err
}
