package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"gossiptrainer/configs"
	"gossiptrainer/internal/app/runfolder"
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

// forget removes the folders of the runs of a cell, so that the cell begins again.
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
