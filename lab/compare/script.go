package compare

import (
	"fmt"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/script"
	"gossiptrainer/configs"
	"gossiptrainer/internal/cells"
)

// checkScript refuses a cell that lacks its script, or that cannot run with one. Only processes start scripts.
func (m *Matrix) checkScript(cell configs.Cell, loaded *configs.Loaded) error {
	if err := script.Check(loaded, m.Script, advice.Command("peer", "compare", m.file.Name)); err != nil {
		return err
	}
	switch {
	case !loaded.Config.External():
	case m.file.Mode != "lab":
		return advice.Usage(fmt.Errorf("model.name is external, but mode is %s: only the processes of a lab start scripts",
			m.file.Mode), "set mode: lab in the comparison, or type --mode lab")
	case len(cell.Tune) > 0:
		return advice.Usagef("model.name is external, but values are tuned by the simulator, which starts no scripts: " +
			"give each value of tune an algorithm of its own")
	}
	return nil
}

// noteScript adds the files of the script to those of the data: a repetition needs the same.
func (m *Matrix) noteScript() error {
	files, err := script.Files(m.Script)
	for _, f := range files {
		m.result.Data = append(m.result.Data, cells.DataFile{
			Set: "script", File: withoutHome(f.Name), Size: f.Size, SHA256: f.SHA256,
		})
	}
	return err
}
