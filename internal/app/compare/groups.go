package compare

import (
	"encoding/csv"
	"slices"
	"strings"

	"gossiptrainer/configs"
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

func (m *Matrix) pick(group []int) []configs.Cell {
	cells := make([]configs.Cell, len(group))
	for i, at := range group {
		cells[i] = m.cells[at]
	}
	return cells
}

// split returns the arguments of a cell for its network, and the others.
func (m *Matrix) split(cell configs.Cell) (network, rest []string, err error) {
	settings, err := m.arguments(cell)
	for _, s := range settings {
		if strings.HasPrefix(s, LimitPrefix) {
			network = append(network, s)
		} else {
			rest = append(rest, s)
		}
	}
	return network, rest, err
}

// LimitPrefix begins the keys of a network.
const LimitPrefix = "limit."

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

// SplitSettings reads the output of joinSettings.
func SplitSettings(text string) ([]string, error) {
	return csv.NewReader(strings.NewReader(text)).Read()
}

// WithoutLimits removes the overrides of the network.
func WithoutLimits(set []string) []string {
	return slices.DeleteFunc(slices.Clone(set), func(s string) bool { return strings.HasPrefix(s, LimitPrefix) })
}
