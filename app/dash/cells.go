package dash

import (
	"path/filepath"
	"slices"

	"gossiptrainer/app/runfolder"
	"gossiptrainer/configs"
	"gossiptrainer/internal/cells"
)

// A comparison is the cells of a comparison as they fill.
type comparison struct {
	Name     string          `json:"name"`
	Mode     string          `json:"mode"` // sim or lab
	Labels   []string        `json:"labels"`
	Networks []cells.Network `json:"networks"`
	Seeds    []uint64        `json:"seeds"`
	Done     int             `json:"done"`
	Of       int             `json:"of"`
	Cells    []cell          `json:"cells"`
	Target   string          `json:"target"` // of the times; "": the comparison has none
	Times    []attained      `json:"times"`  // by network, then by label
}

// An attained time is when the finished cells of a label on a network reached the target, as a report writes it.
type attained struct {
	Label   string `json:"label"`
	Network string `json:"network"`
	Time    string `json:"time"`
}

// The states of a cell, beside those of report.CellStatus.
const (
	waitingCell = "waiting"
	runningCell = "running"
)

// A cell is one run of a comparison.
type cell struct {
	Label   string  `json:"label"`
	Network string  `json:"network"`
	Seed    uint64  `json:"seed"`
	State   string  `json:"state"`
	Run     *string `json:"run"` // id; null: none yet
	Rounds  int     `json:"rounds"`
	Of      int     `json:"rounds_of"`

	TrainLoss figure `json:"train_loss"` // of mini-batches, as last recorded
	Loss      figure `json:"loss"`       // on the test set
	Accuracy  figure `json:"accuracy"`
	Time      figure `json:"time_s"`
	Bytes     figure `json:"bytes"`
	Error     string `json:"error"`
}

// compared reads the comparison in a folder, whose runs are known. It is nil before the comparison has written its
// cells.
func compared(dir string, known map[string]*listed) *comparison {
	file, err := cells.Read(dir)
	if err != nil {
		return nil
	}
	c := &comparison{Name: file.Name, Mode: file.Mode, Labels: file.Labels, Networks: file.Networks, Seeds: file.Seeds,
		Cells: []cell{}, Times: []attained{}}
	done := map[string]cells.Cell{}
	for _, cell := range file.Cells {
		done[configs.Cell{Label: cell.Label, Network: cell.Network, Seed: cell.Seed}.ID()] = cell
	}
	for _, network := range file.Networks {
		for _, label := range file.Labels {
			seeds := file.Seeds
			if fewer := file.Fewer[label]; fewer > 0 && fewer < len(seeds) {
				seeds = seeds[:fewer]
			}
			for _, seed := range seeds {
				id := configs.Cell{Label: label, Network: network.Name, Seed: seed}.ID()
				cell := cell{Label: label, Network: network.Name, Seed: seed, State: waitingCell}
				cell.clear()
				cell.run(runOf(id, dir, done[id], known))
				if end, ok := done[id]; ok {
					cell.end(end)
					c.Done++
				}
				c.Cells = append(c.Cells, cell)
			}
		}
	}
	c.Of = len(c.Cells)
	c.time(file)
	return c
}

// time takes the times to the first target of a comparison.
func (c *comparison) time(file *cells.Comparison) {
	targets := file.Targets.List()
	if len(targets) == 0 {
		return
	}
	c.Target = targets[0].String()
	for _, network := range file.Networks {
		for _, label := range file.Labels {
			over := slices.DeleteFunc(slices.Clone(file.Cells), func(cell cells.Cell) bool {
				return cell.Label != label || cell.Network != network.Name
			})
			if len(over) > 0 {
				c.Times = append(c.Times, attained{label, network.Name, cells.TimeTo(over, targets[0])})
			}
		}
	}
}

// runOf returns the run of a cell: the one that it names, or the newest of its folder. It is nil if there is none.
func runOf(id, dir string, done cells.Cell, known map[string]*listed) (found *listed) {
	for _, one := range known {
		switch {
		case done.Folder != "" && filepath.Clean(one.place.Dir) == filepath.Join(dir, done.Folder):
			return one
		case filepath.Base(filepath.Dir(one.place.Dir)) == id && (found == nil || one.Began.After(found.Began)):
			found = one
		}
	}
	return found
}

// clear makes all results unknown.
func (c *cell) clear() {
	for _, of := range []*figure{&c.TrainLoss, &c.Loss, &c.Accuracy, &c.Time, &c.Bytes} {
		*of = unknown()
	}
}

// run takes how far the run of the cell is.
func (c *cell) run(one *listed) {
	if one == nil {
		return
	}
	c.Run, c.Rounds, c.Of = &one.place.Name, one.Rounds, one.Of
	if one.State == runfolder.Running {
		c.State = runningCell
	}
	if one.TrainLoss != nil {
		c.TrainLoss = figureOf(*one.TrainLoss)
	}
	c.Bytes = figure(one.Sent)
}

// end takes the result of the cell.
func (c *cell) end(cell cells.Cell) {
	c.State, c.Error = string(cell.Status), cell.Error
	if s := cell.Summary; s != nil {
		c.Rounds, c.Time, c.Bytes = s.Rounds, figureOf(s.Time), figure(s.BytesPerPeer.Wire)
		c.Loss, c.Accuracy = maybe(s.Loss), maybe(s.Accuracy.Mean)
	}
}

// maybe is a figure that may be missing.
func maybe(v *float64) figure {
	if v == nil {
		return unknown()
	}
	return figureOf(*v)
}
