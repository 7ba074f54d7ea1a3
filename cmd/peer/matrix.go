package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gossiptrainer/configs"
	"gossiptrainer/internal/app/advice"
	"gossiptrainer/internal/app/machine"
	"gossiptrainer/internal/app/runfolder"
	"gossiptrainer/internal/atomicfile"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/regular"
	"gossiptrainer/internal/report"
	"gossiptrainer/internal/shape"
)

// A matrix runs the cells of a comparison and keeps what came of them in a
// folder.
type matrix struct {
	c       *console
	file    *configs.Comparison
	set     []string // of every cell
	dir     string
	program string
	cells   []configs.Cell
	tuned   map[string][]string // by label
	timed   map[string]bool     // labels of runs whose parameters depend on the network
	pace    pace
	result  report.Comparison
}

// newMatrix checks the flags and makes the folder.
func newMatrix(c *console, file *configs.Comparison, f compareFlags) (*matrix, error) {
	m := &matrix{c: c, file: file, set: f.set, dir: f.dir, tuned: map[string][]string{}, timed: map[string]bool{}}
	if m.dir == "" {
		m.dir = file.Name
	}
	if f.mode != "" {
		if f.mode != "sim" && f.mode != "lab" {
			return nil, advice.OneOf("compare: --mode", f.mode, []string{"sim", "lab"})
		}
		file.Mode = f.mode
	}
	if m.sets("seed") {
		return nil, advice.Usagef("compare: --set seed: cells have the seeds of the file, which would all become one: change its list of seeds")
	}
	var labels []string
	for _, a := range file.Algorithms {
		labels = append(labels, a.Label)
	}
	for _, only := range f.only {
		if !slices.Contains(labels, only) {
			return nil, advice.OneOf("compare: --only", only, labels)
		}
	}
	if len(f.only) > 0 {
		labels = f.only
	}
	for _, cell := range file.Cells() {
		if slices.Contains(labels, cell.Label) {
			cell.Tune = slices.DeleteFunc(slices.Clone(cell.Tune), func(c configs.Choice) bool { return m.sets(c.Key) })
			m.cells = append(m.cells, cell)
		}
	}
	err := m.checkSet()
	if err != nil {
		return nil, err
	}
	if m.program, err = os.Executable(); err != nil {
		return nil, fmt.Errorf("compare: where is this program: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(m.dir, report.CellsFolder), 0o777); err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	m.result = report.Comparison{
		Name: file.Name, Mode: file.Mode, Base: withoutHome(file.Base), Targets: record.Targets(file.Targets),
		Seeds: file.Seeds, Labels: labels, Command: commandLine(os.Args), Version: readBuild().Version, Machine: machine.Describe(),
	}
	if before, err := report.ReadComparison(m.dir); err == nil {
		m.result.Made = before.Made
	}
	return m, nil
}

// sets reports whether a key has one value in all cells.
func (m *matrix) sets(key string) bool {
	return slices.ContainsFunc(m.set, func(s string) bool { return strings.HasPrefix(s, key+"=") })
}

// prepare loads every cell, measures what a gradient takes where the simulator
// needs to know, and searches for the values that are to be tuned.
func (m *matrix) prepare(ctx context.Context) error {
	for _, cell := range m.cells {
		loaded, err := m.load(firstChoice(cell))
		if err != nil {
			return err
		}
		run, err := assemble(loaded)
		if err != nil {
			return m.inCell(cell, err)
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
		m.timed[cell.Label] = run.Timed()
		if m.file.Mode == "sim" && m.result.Compute == 0 {
			if err := m.measure(run); err != nil {
				return err
			}
		}
	}
	if err := m.tune(ctx); err != nil {
		return err
	}
	return m.keepFiles()
}

// firstChoice returns the cell with the first value of everything that is to be
// tuned. The defaults in their place may be settings with which it cannot run.
func firstChoice(cell configs.Cell) configs.Cell {
	cell.Set = slices.Clone(cell.Set)
	for _, choice := range cell.Tune {
		cell.Set = append(cell.Set, configs.Override{Key: choice.Key, Value: choice.Values[0]})
	}
	return cell
}

// endsOf checks that a cell can end as it should.
func (m *matrix) endsOf(cell configs.Cell, run *experiment.Run) error {
	ends, err := parseUntil("compare", configs.Arguments(cell.Until))
	m.result.Until = ends.String()
	if err == nil {
		err = ends.check(run)
	}
	if err != nil {
		return m.inCell(cell, err)
	}
	return nil
}

// inCell says which cell an error is about. A key that the comparison sets is no
// --set of the user.
func (m *matrix) inCell(cell configs.Cell, err error) error {
	e, ok := errors.AsType[*configs.Error](err)
	if !ok {
		return fmt.Errorf("compare: cell %s: %w", cell, err)
	}
	problems := slices.Clone(e.Problems)
	for i := range problems {
		p := &problems[i]
		p.Message = fmt.Sprintf("cell %s: %s", cell, p.Message)
		if given, ok := strings.CutPrefix(p.Source, "--set "); ok && !slices.Contains(m.set, given) {
			p.Source = ""
		}
	}
	return &configs.Error{Problems: problems}
}

// load merges what a cell says over the base, and what all cells have over both.
func (m *matrix) load(cell configs.Cell) (*configs.Loaded, error) {
	return configs.Load(configs.Source{File: m.file.Base, Env: os.Environ(), Set: m.own(cell), All: m.set})
}

// own are what a cell says over the base. A cell that is interrupted starts
// again, so it takes no checkpoints.
func (m *matrix) own(cell configs.Cell) []string {
	return slices.Concat([]string{"checkpoint.every=0", "checkpoint.seconds=0"}, configs.Arguments(cell.Set), m.tuned[cell.Label])
}

// arguments are what a cell says, with what all cells have as far as it has an
// effect there.
func (m *matrix) arguments(cell configs.Cell) ([]string, error) {
	loaded, err := m.load(cell)
	if err != nil {
		return nil, err
	}
	kept, _ := loaded.All()
	return append(m.own(cell), kept...), nil
}

// checkSet refuses settings of all cells that have no effect in any of them.
func (m *matrix) checkSet() error {
	kept, idle := map[string]bool{}, map[string]configs.Problem{}
	for _, cell := range m.cells {
		if cell.Seed != m.file.Seeds[0] {
			continue
		}
		loaded, err := m.load(cell)
		if err != nil {
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
	return nil
}

// network notes what the network of a cell is like.
func (m *matrix) network(cell configs.Cell, link shape.Link) {
	if slices.ContainsFunc(m.result.Networks, func(n report.Network) bool { return n.Name == cell.Network }) {
		return
	}
	m.result.Networks = append(m.result.Networks, report.Network{
		Name: cell.Network, Rate: link.Rate, Latency: link.Latency.Seconds(),
	})
}

// measure takes the time of a gradient: as given, as it was when the comparison
// began, or as it is now.
func (m *matrix) measure(run *experiment.Run) error {
	if m.file.Compute > 0 {
		m.result.Compute = m.file.Compute.Seconds()
		return nil
	}
	m.result.Measured = true
	if before, err := report.ReadComparison(m.dir); err == nil && before.Measured && before.Base == m.result.Base {
		m.result.Compute = before.Compute
		return nil
	}
	took, err := run.MeasureGradient(gradients)
	if err != nil {
		return err
	}
	m.result.Compute = took.Seconds()
	m.c.say("a gradient takes %v on this machine: the virtual time of all cells", took.Round(time.Microsecond))
	return m.write() // so that the cells of a later start have the same
}

// runCells runs what is not finished yet.
func (m *matrix) runCells(ctx context.Context) error {
	var todo []int
	m.result.Cells = make([]report.Cell, len(m.cells))
	for i, cell := range m.cells {
		done, err := m.finished(m.file.Mode, cell)
		if err != nil {
			return err
		}
		if done == nil {
			todo = append(todo, i)
			continue
		}
		m.result.Cells[i] = *done
	}
	if skipped := len(m.cells) - len(todo); skipped > 0 {
		m.c.say("%d of %d cells are finished", skipped, len(m.cells))
	}
	groups, err := m.groups(todo)
	if err != nil {
		return err
	}
	m.pace.rest = m.pick(slices.Concat(groups...))
	for _, group := range groups {
		first := m.cells[group[0]]
		m.pace.begin(m.pick(group), time.Now())
		m.c.say("cell %d of %d: %s%s%s", group[0]+1, len(m.cells), first, others(len(group)-1), m.pace.words(time.Now()))
		done, err := m.runTogether(ctx, m.file.Mode, m.pick(group))
		if err != nil {
			return err
		}
		m.pace.end(time.Now())
		for i, at := range group {
			m.result.Cells[at] = done[i]
		}
		m.result.Made = time.Now().UTC().Format(time.RFC3339)
		if err := m.write(); err != nil {
			return err
		}
		if done[0].Status != report.CellDone {
			m.c.say("  %s: %s", done[0].Status, done[0].Error)
		}
	}
	return nil
}

func others(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", with %d other networks", n)
}

// maxResult bounds the file of a cell.
const maxResult = 64 << 20

// finished returns the result of a cell that was run before with the same
// settings; one that failed is run again.
func (m *matrix) finished(mode string, cell configs.Cell) (*report.Cell, error) {
	text, err := regular.Read(filepath.Join(m.folder(cell), report.CellFile), maxResult)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	var done report.Cell
	if err := json.Unmarshal(text, &done); err != nil || done.Status == report.CellFailed {
		return nil, nil // as good as not run
	}
	hash, err := m.hash(mode, cell)
	if err != nil || done.Config != hash {
		return nil, err
	}
	if done.Status == report.CellDone {
		run, err := record.Open(filepath.Join(m.dir, done.Folder))
		if err != nil {
			return nil, nil
		}
		done.Reach(run, m.result.Targets)
	}
	return &done, nil
}

// hash names the settings of a cell.
func (m *matrix) hash(mode string, cell configs.Cell) (string, error) {
	loaded, err := m.load(cell)
	if err != nil {
		return "", err
	}
	loaded.Config.Output.Dir, loaded.Config.Data.Dir = "", ""
	text := fmt.Appendf(loaded.Config.YAML(), "mode %s compute %v", mode, m.result.Compute)
	for _, s := range configs.Arguments(cell.Until) {
		text = fmt.Appendf(text, " until %s", s)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

func (m *matrix) folder(cell configs.Cell) string {
	return filepath.Join(m.dir, report.CellsFolder, cell.ID())
}

// write writes the comparison as far as it has come, so that an interrupted one
// has a report too.
func (m *matrix) write() error {
	sofar := m.result
	sofar.Cells = slices.DeleteFunc(slices.Clone(sofar.Cells), func(c report.Cell) bool { return c.Status == "" })
	return writeResult(filepath.Join(m.dir, report.ComparisonFile), sofar)
}

// writeResult writes a file that is whole or not there.
func writeResult(path string, result any) error {
	text, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		return fmt.Errorf("compare: %w", err)
	}
	if err := atomicfile.Write(path, append(text, '\n'), runfolder.Readable); err != nil {
		return fmt.Errorf("compare: %w", err)
	}
	return nil
}
