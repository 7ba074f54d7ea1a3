package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"gossiptrainer/app/advice"
	"gossiptrainer/configs"
	"gossiptrainer/internal/cells"
	"gossiptrainer/internal/human"
)

// A part is a folder with finished cells of the comparison.
type part struct {
	dir   string
	wrote *cells.Comparison
	cells []cells.Cell
}

// Merge makes the comparison in the new folder o.Dir from the finished cells of other folders, each of which has a part
// of them. It refuses parts of other versions or settings, cells that two parts have, and cells that no part has. The
// folder is then that of one run on one machine.
func Merge(ctx context.Context, file *configs.Comparison, o Options, from []string) (*Matrix, error) {
	if o.Shard != (Shard{}) || len(o.Only) > 0 {
		return nil, advice.Usagef("compare: --merge takes all cells: leave out --shard and --only")
	}
	o, err := o.options(file)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(o.Dir, cells.ComparisonFile)); err == nil {
		return nil, advice.Usagef("compare: --merge: %s has a comparison: choose a new folder with -o", o.Dir)
	}
	var parts []part
	for _, dir := range from {
		p, err := readPart(file, o, dir)
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	if err := fit(file, parts); err != nil {
		return nil, err
	}
	if err := takeOver(o.Dir, parts); err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	m, err := New(file, o)
	if err != nil {
		return nil, err
	}
	m.result.Machine, m.result.Command, m.result.Made = m.before.Machine, m.before.Command, m.before.Made
	return m, m.Do(ctx, "")
}

// readPart reads the finished cells of a folder. All its cells must have the settings that the comparison gives them.
func readPart(file *configs.Comparison, o Options, dir string) (part, error) {
	p := part{dir: dir}
	var err error
	if p.wrote, err = cells.Read(dir); err != nil {
		return p, err
	}
	o.Dir = dir
	own := *file
	m, err := New(&own, o)
	if err != nil {
		return p, err
	}
	known := map[string]bool{}
	for i, cell := range m.cells {
		if done := m.result.Cells[i]; done.Status != "" {
			p.cells, known[cell.ID()] = append(p.cells, done), true
		}
	}
	for _, cell := range file.Cells() {
		_, err := os.Stat(filepath.Join(dir, cells.CellsFolder, cell.ID(), cells.CellFile))
		if err == nil && !known[cell.ID()] {
			return p, advice.Usage(fmt.Errorf("compare: --merge %s: cell %s has failed, or has other settings than %s and the "+
				"flags of this command give it", dir, cell, file.Name), "run it again there, or give the same file and flags")
		}
	}
	return p, nil
}

// fit refuses parts that are not the cells of one comparison.
func fit(file *configs.Comparison, parts []part) error {
	first, has := parts[0], map[string]string{}
	for _, p := range parts {
		for _, differs := range []struct{ what, one, other string }{
			{"the version", first.wrote.Version, p.wrote.Version},
			{"the base", first.wrote.Base, p.wrote.Base},
			{"the mode", first.wrote.Mode, p.wrote.Mode},
			{"the time of a gradient", times(first.wrote), times(p.wrote)},
		} {
			if differs.one != differs.other {
				return advice.Usagef("compare: --merge: %s of %s is %q, that of %s %q: parts of one comparison have the same",
					differs.what, first.dir, differs.one, p.dir, differs.other)
			}
		}
		for _, label := range slices.Sorted(maps.Keys(p.wrote.Costs)) {
			if one, other := first.wrote.Costs[label], p.wrote.Costs[label]; one != "" && one != other {
				return advice.Usagef("compare: --merge: %s was simulated with the costs %s in %s and %s in %s: give them in the "+
					"file, as in compute: 5ms", label, one, first.dir, other, p.dir)
			}
		}
		for _, cell := range p.cells {
			id := idOf(cell)
			if other, twice := has[id]; twice {
				return advice.Usagef("compare: --merge: %s and %s both have cell %s: leave one of them out", other, p.dir, id)
			}
			has[id] = p.dir
		}
	}
	var missing []string
	for _, cell := range file.Cells() {
		if has[cell.ID()] == "" {
			missing = append(missing, cell.ID())
		}
	}
	if len(missing) > 0 {
		return advice.Usagef("compare: --merge: no folder has %s of %s: %s", human.Part(len(missing), len(file.Cells()),
			"cell"), file.Name, strings.Join(missing[:min(len(missing), 5)], ", "))
	}
	return nil
}

// times returns the costs of a comparison in virtual time, without those of labels that only one part has.
func times(c *cells.Comparison) string {
	if c.Measured {
		return fmt.Sprintf("%v s, measured", c.Compute)
	}
	return fmt.Sprintf("%v s", c.Compute)
}

func idOf(c cells.Cell) string {
	return configs.Cell{Label: c.Label, Network: c.Network, Seed: c.Seed}.ID()
}

// takeOver copies the cells of all parts, with what the comparison must know of them.
func takeOver(dir string, parts []part) error {
	all := *parts[0].wrote
	all.Labels, all.Cells, all.Trials, all.Costs = nil, nil, nil, map[string]string{}
	var machines, commands []string
	for _, p := range parts {
		for _, cell := range p.cells {
			id := idOf(cell)
			to := filepath.Join(dir, cells.CellsFolder, id)
			if err := os.CopyFS(to, os.DirFS(filepath.Join(p.dir, cells.CellsFolder, id))); err != nil {
				return fmt.Errorf("copy cell %s of %s: %w", id, p.dir, errors.Join(err, os.RemoveAll(to)))
			}
		}
		for _, t := range p.wrote.Trials {
			if !slices.ContainsFunc(all.Trials, func(o cells.Trial) bool {
				return o.Label == t.Label && slices.Equal(o.Settings, t.Settings)
			}) {
				all.Trials = append(all.Trials, t)
			}
		}
		maps.Copy(all.Costs, p.wrote.Costs)
		all.Made = max(all.Made, p.wrote.Made)
		machines, commands = unlike(machines, p.wrote.Machine), unlike(commands, withoutShard(p.wrote.Command))
	}
	all.Machine, all.Command = strings.Join(machines, "; "), strings.Join(commands, andThen)
	if len(all.Costs) == 0 {
		all.Costs = nil
	}
	return cmp.Or(os.MkdirAll(dir, fs.ModePerm), writeResult(filepath.Join(dir, cells.ComparisonFile), all))
}

// unlike adds a text to others, unless it is there.
func unlike(texts []string, text string) []string {
	if slices.Contains(texts, text) {
		return texts
	}
	return append(texts, text)
}

// withoutShard returns a command line without its shard: together, shards are what the rest of the line makes.
func withoutShard(command string) string { return shardFlag.ReplaceAllString(command, "") }

var shardFlag = regexp.MustCompile(` --shard[ =][0-9]+/[0-9]+`)
