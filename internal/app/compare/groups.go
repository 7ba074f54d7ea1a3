package compare

import (
	"encoding/csv"
	"slices"
	"strings"

	"gossiptrainer/configs"
)

// In virtual time a network says when something happens and not what: cells that
// differ in their network alone are simulated in one process, which takes their
// gradients once. The results are those of a process for each. A cell that may end
// before its rounds are over has one of its own: another network ends it elsewhere.

// groups puts the cells to do that can be run together into one group each.
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

// split returns the arguments of a cell that make its network, and the others.
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

// LimitPrefix begins the keys that make a network.
const LimitPrefix = "limit."

// joinSettings writes overrides as one argument of --also, in which commas stand
// between them.
func joinSettings(set []string) string {
	var text strings.Builder
	w := csv.NewWriter(&text)
	if err := w.Write(set); err != nil {
		panic("internal error: " + err.Error()) // nothing fails in memory
	}
	w.Flush()
	return strings.TrimSuffix(text.String(), "\n")
}

// SplitSettings reads what joinSettings writes.
func SplitSettings(text string) ([]string, error) {
	return csv.NewReader(strings.NewReader(text)).Read()
}

// WithoutLimits leaves out the overrides that make a network.
func WithoutLimits(set []string) []string {
	return slices.DeleteFunc(slices.Clone(set), func(s string) bool { return strings.HasPrefix(s, LimitPrefix) })
}
