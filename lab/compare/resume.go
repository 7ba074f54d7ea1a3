package compare

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/runfolder"
	"gossiptrainer/configs"
	"gossiptrainer/internal/cells"
	"gossiptrainer/internal/checkpoint"
	"gossiptrainer/internal/cost"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/machine"
	"gossiptrainer/internal/safefile"
)

// begunFile says which cell began in a folder. It is there before the cell has a result, so that the cell can go on.
const begunFile = "begun.json"

// begin prepares the folders of cells that run together, with the results that they will have. It reports whether the
// cells go on from a checkpoint. Otherwise it removes all that is in the folders.
func (m *Matrix) begin(mode string, cells []configs.Cell, results []cells.Cell) (resume bool, err error) {
	if mode == "sim" && len(cells) == 1 && m.begun(cells[0], results[0]) {
		return true, nil
	}
	for i, cell := range cells {
		folder := m.folder(cell)
		if err := errors.Join(os.RemoveAll(folder), os.MkdirAll(folder, 0o777)); err != nil {
			return false, fmt.Errorf("compare: %w", err)
		}
		if err := writeResult(filepath.Join(folder, begunFile), results[i]); err != nil {
			return false, err
		}
	}
	return false, nil
}

// begun reports whether a cell with the settings and the version of a result has a checkpoint that this program can
// read. It says so if the program cannot read the one that is there.
func (m *Matrix) begun(cell configs.Cell, now cells.Cell) bool {
	var then cells.Cell
	text, err := safefile.Read(filepath.Join(m.folder(cell), begunFile), maxResult)
	if err != nil || json.Unmarshal(text, &then) != nil || then.Config != now.Config || then.Results != now.Results {
		return false
	}
	loaded, err := m.load(cell)
	if err != nil {
		return false
	}
	cfg := loaded.Config
	cfg.Output.Dir = m.folder(cell)
	run, err := runfolder.FindSim(cfg)
	if err != nil {
		return false
	}
	if _, err := checkpoint.Peek(runfolder.SimFolder(cfg, run)); err != nil {
		m.talk(func() {
			m.say("%s on %s, seed %d, begins again: %s", cell.Label, cell.Network, cell.Seed, withoutHome(err.Error()))
		})
		return false
	}
	return true
}

// adopt takes over the finished cells of earlier starts, also those of labels that this start does not run. So a
// comparison that is run part by part, or stopped before its next cell, has a report of all finished cells. Cells with
// other settings stay in their folders, and out of the report.
func (m *Matrix) adopt() error {
	if before, err := cells.Read(m.Dir); err == nil {
		m.result.Made = before.Made
		if before.Base == m.result.Base {
			m.before, m.result.Setups, m.result.Settings = *before, before.Setups, before.Settings
		}
	}
	m.cells = nil
	others, mine := false, m.Shard.takes(m.file.Cells())
	for _, cell := range m.file.Cells() {
		cell = m.withoutSet(cell)
		done, err := m.finishedBefore(cell)
		if err != nil {
			return err
		}
		asked := slices.Contains(m.Only, cell.Label) && mine[cell.ID()]
		if done == nil {
			if !asked {
				continue
			}
			done = new(cells.Cell)
		}
		others = others || !asked
		m.cells, m.result.Cells = append(m.cells, cell), append(m.result.Cells, *done)
		if !slices.Contains(m.result.Labels, cell.Label) {
			m.result.Labels = append(m.result.Labels, cell.Label)
		}
	}
	m.result.Trials = slices.DeleteFunc(slices.Clone(m.before.Trials), func(t cells.Trial) bool {
		return !slices.Contains(m.result.Labels, t.Label)
	})
	for _, label := range m.Only {
		delete(m.tuned, label) // its grid may have changed
	}
	for _, a := range m.file.Algorithms { // cells of other starts have results of these costs
		compute, err := cost.Parse(cmp.Or(a.Compute, m.file.Compute))
		if known := m.before.Costs[a.Label]; err == nil && compute.Measured && known != "" && m.file.Mode == "sim" {
			m.result.Costs[a.Label] = known
		}
	}
	if then, now := m.before.Command, m.Process.Command; others && then != "" {
		m.result.Command = then
		if !slices.Contains(strings.Split(then, andThen), now) {
			m.result.Command += andThen + now
		}
	}
	return nil
}

// andThen joins the commands that made the parts of a comparison.
const andThen = " && "

// finishedBefore returns the result of a finished cell, with the values that were searched and the costs that were
// measured for it.
func (m *Matrix) finishedBefore(cell configs.Cell) (*cells.Cell, error) {
	compute, err := cost.Parse(cell.Compute)
	if err != nil {
		return nil, err
	}
	if _, err := m.load(cell); err != nil {
		return nil, nil // it refuses what all cells get now: it was made without
	}
	for _, choice := range configs.Combinations(cell.Tune) { // the file may ask for other values now
		for _, t := range m.before.Trials {
			if t.Label == cell.Label && t.Chosen && slices.Equal(t.Settings, configs.Arguments(choice)) {
				m.tuned[cell.Label] = t.Settings
			}
		}
	}
	if costs, known := m.known(cell.Label, compute); known && m.file.Mode == "sim" {
		m.costs[cell.Label] = costs
	}
	return m.finished(m.file.Mode, cell)
}

// bound lets fewer cells run side by side if they do not fit into memory.
func (m *Matrix) bound() {
	free := machine.FreeMemory()
	if free == 0 || m.room.needs == 0 || m.Jobs == 1 {
		return
	}
	const share = 2 // of what a process needs at least: estimates leave out what the runtime keeps
	if fit := max(1, int(free/(share*m.room.needs))); fit < m.Jobs {
		m.say("%s side by side: the memory has no room for more", human.Count(fit, "cell"))
		m.Jobs = fit
	}
}

// sayOthers names the finished cells whose results may differ from those of this program.
func (m *Matrix) sayOthers() {
	for _, cell := range m.result.Cells {
		if cell.Status != "" && other(m, cell) {
			m.say("%s", advice.Warning(fmt.Sprintf("%s on %s, seed %d, was made by version %s, whose results may differ: "+
				"--remake makes it again", cell.Label, cell.Network, cell.Seed, cmp.Or(cell.Program, "unknown"))))
		}
	}
}

// other reports whether a cell was made by a program whose results may differ. Cells without a version have version 1.
func other(m *Matrix, cell cells.Cell) bool { return max(1, cell.Results) != resultsOf(m, cell.Label) }

// resultsOf returns the version of the results of this program in the cells of a label.
func resultsOf(m *Matrix, label string) int {
	i := slices.IndexFunc(m.cells, func(c configs.Cell) bool { return c.Label == label })
	if i < 0 {
		return 0
	}
	loaded, err := m.load(m.cells[i])
	if err != nil {
		return 0
	}
	return experiment.ResultsVersion(loaded.Config.Algorithm.Name)
}
