// Package compare runs a comparison. Every algorithm on every network with every seed is a
// cell, and each cell is a process of this program. It keeps the results in a folder, goes
// on with a stopped comparison, predicts the traffic of the cells, and writes the report.
//
// It prints only lines about its progress, and leaves tables and exit codes to
// the command line.
package compare

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/runfolder"
	"gossiptrainer/app/script"
	"gossiptrainer/configs"
	"gossiptrainer/internal/cells"
	"gossiptrainer/internal/cost"
	"gossiptrainer/internal/machine"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/safefile"
)

// A Matrix runs the cells of a comparison and keeps their results in a folder.
type Matrix struct {
	Options
	file   *configs.Comparison
	cells  []configs.Cell
	tuned  map[string][]string   // by label
	timed  map[string]bool       // labels of runs whose parameters depend on the network
	costs  map[string]cost.Costs // of sim, by label
	links  cost.Costs            // of links, once they are measured
	pace   *pace
	room   room
	before cells.Comparison // in the folder, from the same base; empty if there is none
	result cells.Comparison

	mu    *sync.Mutex // of results and terminal, while cells run
	shown Progress    // of the running cells; nil before they run
}

// A room is what the largest cell takes; 0: unknown.
type room struct {
	needs  int64 // bytes of memory
	leaves int64 // bytes on disk, at least
}

// New checks the options and makes the folder.
func New(file *configs.Comparison, o Options) (*Matrix, error) {
	o, err := o.options(file)
	if err != nil {
		return nil, err
	}
	file.Mode = o.Mode
	m := &Matrix{Options: o, file: file, tuned: map[string][]string{}, timed: map[string]bool{},
		costs: map[string]cost.Costs{},
		pace:  &pace{jobs: 1}, mu: new(sync.Mutex)}
	for _, cell := range file.Cells() {
		if slices.Contains(o.Only, cell.Label) {
			m.cells = append(m.cells, m.withoutSet(cell))
		}
	}
	if err := m.checkSet(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(m.Dir, cells.CellsFolder), 0o777); err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	m.result = cells.Comparison{
		Name: file.Name, Mode: file.Mode, Base: withoutHome(file.Base),
		Targets: record.Targets(file.Targets), Levels: levels(file.Levels),
		Seeds: file.Seeds, Command: o.Process.Command,
		Script: withoutHome(advice.Command(script.After(o.Script)...)), Version: o.Process.Version,
		Machine: machine.Describe(), Costs: map[string]string{}, Fewer: map[string]int{},
	}
	if file.Mode == "sim" {
		m.result.Cores = file.Cores
	}
	for _, a := range file.Algorithms {
		if a.Seeds > 0 {
			m.result.Fewer[a.Label] = a.Seeds
		}
	}
	return m, m.adopt()
}

// withoutSet returns the cell without searches for keys that have one value in all cells.
func (m *Matrix) withoutSet(cell configs.Cell) configs.Cell {
	cell.Tune = slices.DeleteFunc(slices.Clone(cell.Tune), func(c configs.Choice) bool { return m.sets(c.Key) })
	return cell
}

// say writes one line of talk.
func (m *Matrix) say(format string, args ...any) { fmt.Fprintf(m.Talk, format+"\n", args...) }

// talk does something that touches the results or the terminal, while no other cell does.
func (m *Matrix) talk(do func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.shown != nil {
		m.shown.Clear()
	}
	do()
}

// inCell adds the cell to an error. A key that the comparison sets is not a --set of the user.
func (m *Matrix) inCell(cell configs.Cell, err error) error {
	e, ok := errors.AsType[*configs.Error](err)
	if !ok {
		return fmt.Errorf("compare: cell %s: %w", cell, err)
	}
	problems := slices.Clone(e.Problems)
	for i := range problems {
		p := &problems[i]
		p.Message = fmt.Sprintf("cell %s: %s", cell, p.Message)
		if given, ok := strings.CutPrefix(p.Source, "--set "); ok && !slices.Contains(m.Set, given) {
			p.Source = ""
		}
	}
	return &configs.Error{Problems: problems}
}

// load merges the overrides of a cell over the base, and those of all cells over both.
func (m *Matrix) load(cell configs.Cell) (*configs.Loaded, error) {
	return configs.Load(configs.Source{File: m.file.Base, Env: os.Environ(), Set: m.own(cell), All: m.Set})
}

// own returns the overrides of a cell. Simulated cells go on from checkpoints. A cell of real peers that was
// interrupted starts again, because its times would not be those of one run: so it takes no checkpoints.
func (m *Matrix) own(cell configs.Cell) []string {
	var none []string
	if m.file.Mode != "sim" {
		none = []string{"checkpoint.every=0", "checkpoint.seconds=0"}
	}
	set := slices.Concat(none, configs.Arguments(cell.Set), m.tuned[cell.Label])
	return append(set, m.Data.moved(configs.Source{File: m.file.Base, Env: os.Environ(), Set: set, All: m.Set})...)
}

// arguments returns the overrides of a cell, and those of all cells that have an effect there.
func (m *Matrix) arguments(cell configs.Cell) ([]string, error) {
	loaded, err := m.load(cell)
	if err != nil {
		return nil, err
	}
	kept, _ := loaded.All()
	return append(m.own(cell), kept...), nil
}

// checkSet refuses overrides of all cells that have no effect in any cell, or with which no cell can tell when a target
// is reached.
func (m *Matrix) checkSet() error {
	kept, idle := map[string]bool{}, map[string]configs.Problem{}
	var told bool
	var silent error
	for _, cell := range m.cells {
		if cell.Seed != m.file.Seeds[0] {
			continue
		}
		loaded, err := m.load(cell)
		if err != nil {
			return err
		}
		if err := m.file.CheckTargets(loaded.Config); err == nil {
			told = true
		} else if silent == nil {
			silent = m.inCell(cell, loaded.Locate(err))
		}
		if err := m.Data.check(loaded.Config.Data); err != nil {
			return err
		}
		settings, problems := loaded.All()
		for _, s := range settings {
			key, _, _ := strings.Cut(s, "=")
			kept[key] = true
		}
		for _, p := range problems {
			idle[p.Key] = p
		}
	}
	for _, key := range slices.Sorted(maps.Keys(idle)) {
		if !kept[key] {
			return &configs.Error{Problems: []configs.Problem{idle[key]}}
		}
	}
	if !told {
		return silent
	}
	return nil
}

// hash names the settings of a cell.
func (m *Matrix) hash(mode string, cell configs.Cell) (string, error) {
	loaded, err := m.load(cell)
	if err != nil {
		return "", err
	}
	loaded.Config.Output.Dir, loaded.Config.Data.Dir = "", ""
	for _, path := range []*string{&loaded.Config.Data.Path, &loaded.Config.Data.Test} {
		if *path != "" {
			*path = filepath.Base(*path) // copies of the folder go on elsewhere
		}
	}
	if loaded.Config.Checkpoint.Dir = ""; mode == "sim" && len(loaded.Config.Faults.Script) == 0 {
		loaded.Config.Checkpoint.Every, loaded.Config.Checkpoint.Seconds = 0, 0 // they change no result
	}
	loaded.Config.Train.From = loaded.Config.Train.FromHash
	costs := m.costs[cell.Label]
	text := fmt.Appendf(loaded.Config.YAML(), "mode %s compute %v", mode, costs.Gradient.Seconds())
	if mode == "sim" && (costs.Coding() || m.file.Cores > 0) {
		text = fmt.Appendf(text, " %v cores %d", costs, m.file.Cores)
	}
	for _, s := range configs.Arguments(cell.Until) {
		text = fmt.Appendf(text, " until %s", s)
	}
	if len(m.Script) > 0 {
		files, err := script.Files(m.Script)
		if err != nil {
			return "", fmt.Errorf("compare: %w", err)
		}
		text = fmt.Appendf(text, " script %q %v", m.Script, files)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

func (m *Matrix) folder(cell configs.Cell) string {
	return filepath.Join(m.Dir, cells.CellsFolder, cell.ID())
}

// noRoom is the error of a disk without room for the results of a cell.
func (m *Matrix) noRoom(why error) *runfolder.SpaceError {
	return &runfolder.SpaceError{Dir: m.Dir, Key: "--output", What: "the results of a cell", Need: m.room.leaves, Err: why}
}

// Save writes the present state of the comparison, so that an interrupted comparison has a report.
func (m *Matrix) Save() error {
	sofar := m.result
	sofar.Cells = slices.DeleteFunc(slices.Clone(sofar.Cells), func(c cells.Cell) bool { return c.Status == "" })
	return writeResult(filepath.Join(m.Dir, cells.ComparisonFile), sofar)
}

// writeResult writes a file completely or not at all.
func writeResult(path string, result any) error {
	text, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		return fmt.Errorf("compare: %w", err)
	}
	if err := safefile.Write(path, append(text, '\n'), runfolder.Readable); err != nil {
		return fmt.Errorf("compare: %w", err)
	}
	return nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
