package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"gossiptrainer/configs"
	"gossiptrainer/internal/app/advice"
	"gossiptrainer/internal/app/machine"
	"gossiptrainer/internal/app/runfolder"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/plural"
	"gossiptrainer/internal/regular"
	"gossiptrainer/internal/report"
)

// begunFile says which cell began in a folder. It is there before the cell has a result, so that the cell can go on.
const begunFile = "begun.json"

// begin prepares the folders of cells that run together, with the results that they will have. It reports whether the
// cells go on from a checkpoint. Otherwise it removes all that is in the folders.
func (m *Matrix) begin(mode string, cells []configs.Cell, results []report.Cell) (resume bool, err error) {
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

// begun reports whether a cell with the settings and the version of a result has a checkpoint.
func (m *Matrix) begun(cell configs.Cell, now report.Cell) bool {
	var then report.Cell
	text, err := regular.Read(filepath.Join(m.folder(cell), begunFile), maxResult)
	if err != nil || json.Unmarshal(text, &then) != nil || then.Config != now.Config || then.Results != now.Results {
		return false
	}
	cfg, err := m.configOf(cell)
	if err != nil {
		return false
	}
	_, err = runfolder.FindSim(cfg)
	return err == nil
}

// forget makes a cell begin again: begin then removes all that is in its folder.
func (m *Matrix) forget(cell configs.Cell) { _ = os.Remove(filepath.Join(m.folder(cell), begunFile)) }

// configOf returns the settings of the run of a cell.
func (m *Matrix) configOf(cell configs.Cell) (configs.Config, error) {
	loaded, err := m.load(cell)
	if err != nil {
		return configs.Config{}, err
	}
	loaded.Config.Output.Dir = m.folder(cell)
	return loaded.Config, nil
}

// bound lets fewer cells run side by side if they do not fit into memory.
func (m *Matrix) bound() {
	free := machine.FreeMemory()
	if free == 0 || m.needs == 0 || m.Jobs == 1 {
		return
	}
	const share = 2 // of what a process needs at least: estimates leave out what the runtime keeps
	if fit := max(1, int(free/(share*m.needs))); fit < m.Jobs {
		m.say("%s side by side: the memory has no room for more", plural.Of(fit, "cell"))
		m.Jobs = fit
	}
}

// sayOthers names the finished cells whose results may differ from those of this program.
func (m *Matrix) sayOthers() {
	for _, cell := range m.result.Cells {
		if cell.Status != "" && other(cell) {
			m.say("%s", advice.Warning(fmt.Sprintf("%s on %s, seed %d, was made by version %s, whose results may differ: "+
				"--remake makes it again", cell.Label, cell.Network, cell.Seed, orUnknown(cell.Program))))
		}
	}
}

func orUnknown(version string) string {
	if version == "" {
		return "unknown"
	}
	return version
}

// other reports whether a cell was made by a program whose results may differ. Cells without a version have version 1.
func other(cell report.Cell) bool {
	return max(1, cell.Results) != experiment.ResultsVersion
}
