package compare

import (
	"encoding/csv"
	"slices"
	"strings"

	"gossiptrainer/app/advice"
	"gossiptrainer/configs"
	"gossiptrainer/internal/experiment"
)

// In virtual time a network decides when something happens, not its value. Cells that differ only in their network are
// therefore simulated in one process, which computes their gradients once. The results equal those of separate
// processes. A cell that may end early has its own process, because another network ends it elsewhere.

// groups puts the remaining cells that can run together into one group each.
func (m *Matrix) groups(todo []int) ([][]int, error) {
	var all [][]int
	known := map[string]int{}
	for _, i := range todo {
		cell := m.cells[i]
		_, rest, err := m.split(cell)
		if err != nil {
			return nil, err
		}
		key := strings.Join(append(rest, cell.Label), "\n")
		at, ok := known[key]
		if !ok || m.file.Mode != "sim" || m.timed[cell.Label] || len(cell.Until) > 0 {
			known[key] = len(all)
			all = append(all, []int{i})
			continue
		}
		all[at] = append(all[at], i)
	}
	return all, nil
}

func pick(all []configs.Cell, group []int) []configs.Cell {
	cells := make([]configs.Cell, len(group))
	for i, at := range group {
		cells[i] = all[at]
	}
	return cells
}

// split returns the arguments of a cell for its network, and the others.
func (m *Matrix) split(cell configs.Cell) (network, rest []string, err error) {
	settings, err := m.arguments(cell)
	for _, s := range settings {
		if strings.HasPrefix(s, limitPrefix) {
			network = append(network, s)
		} else {
			rest = append(rest, s)
		}
	}
	return network, rest, err
}

// limitPrefix begins the keys of a network.
const limitPrefix = "limit."

// joinSettings writes overrides as one argument of --also, separated by commas.
func joinSettings(set []string) string {
	var text strings.Builder
	w := csv.NewWriter(&text)
	if err := w.Write(set); err != nil {
		panic("internal error: " + err.Error()) // nothing fails in memory
	}
	w.Flush()
	return strings.TrimSuffix(text.String(), "\n")
}

// Beside builds the runs of a run file on other networks beside the first, which it returns with them. Each network is
// an argument of --also. Its limits replace those of the source.
func Beside(first *experiment.Run, source configs.Source, networks []string) ([]*experiment.Run, error) {
	runs, given := []*experiment.Run{first}, withoutLimits(source.Set)
	for _, network := range networks {
		set, err := splitSettings(network)
		if err != nil || slices.ContainsFunc(set, func(s string) bool {
			return !strings.HasPrefix(s, limitPrefix) && !strings.HasPrefix(s, "output.dir=")
		}) {
			return nil, advice.Usagef("sim: --also %s: want limits and output.dir alone, as in "+
				"limit.rate=1mbit,limit.latency=1ms", network)
		}
		source.Set = slices.Concat(given, set)
		loaded, err := configs.Load(source)
		if err != nil {
			return nil, err
		}
		run, err := first.Beside(loaded.Config)
		if err != nil {
			return nil, loaded.Locate(err)
		}
		runs = append(runs, run)
	}
	return runs, nil
}

// splitSettings reads the output of joinSettings.
func splitSettings(text string) ([]string, error) {
	return csv.NewReader(strings.NewReader(text)).Read()
}

// withoutLimits removes the overrides of the network.
func withoutLimits(set []string) []string {
	return slices.DeleteFunc(slices.Clone(set), func(s string) bool { return strings.HasPrefix(s, limitPrefix) })
}
