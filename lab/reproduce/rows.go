package reproduce

import (
	"fmt"
	"math"
	"path"
	"slices"

	"gossiptrainer/configs"
	"gossiptrainer/internal/cells"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/record"
	"gossiptrainer/lab/study"
)

// A part is a comparison that was run.
type part struct {
	name  string // of its folder
	study *study.Study
}

// A row is the cells of a label on a network.
type row struct {
	*study.Group
	part *part
}

// find returns a row, or false if it has no cell. Without a network it takes the first.
func (p *part) find(label, network string) (row, bool) {
	for _, g := range p.study.Groups {
		if g.Label == label && (network == "" || g.Network.Name == network) {
			return row{g, p}, true
		}
	}
	return row{}, false
}

// lost decides a comparison in which runs of a row have no result, and reports whether it could.
func (a row) lost(b row, c Check) (words string, v Verdict, ended bool) {
	for _, r := range []row{a, b} {
		if n := r.count(cells.Failed); n > 0 {
			return fmt.Sprintf("%s of %s failed", human.Part(n, len(r.Cells), "run"), r.Label), Untested, true
		}
	}
	ours, theirs := a.count(cells.Diverged), b.count(cells.Diverged)
	if ours == 0 && theirs == 0 {
		return "", 0, false
	}
	for _, r := range []row{a, b} {
		if n := r.count(cells.Diverged); n > 0 {
			words += fmt.Sprintf("%s of %s diverged; ", human.Part(n, len(r.Cells), "run"), r.Label)
		}
	}
	words = words[:len(words)-len("; ")]
	judged := c.Kind == Within || c.Kind == Above || c.Kind == Sooner || c.Kind == FewerTo
	switch {
	case !judged || len(a.Cells) < 2 || len(b.Cells) < 2:
		return words, Undecided, true
	case ours == len(a.Cells) && theirs == 0:
		return words, Contradicted, true
	case ours == 0 && theirs == len(b.Cells):
		return words, Supported, true
	}
	return words, Undecided, true
}

// count returns how many cells ended in a way.
func (a row) count(how cells.Status) int {
	n := 0
	for _, cell := range a.Cells {
		if cell.Status == how {
			n++
		}
	}
	return n
}

// paired calls see with the cells of both rows, seed by seed.
func (a row) paired(b row, see func(x, y cells.Cell)) {
	for _, x := range a.Cells {
		i := slices.IndexFunc(b.Cells, func(y cells.Cell) bool { return y.Seed == x.Seed })
		if i >= 0 && x.Summary != nil && b.Cells[i].Summary != nil {
			see(x, b.Cells[i])
		}
	}
}

// folders returns the folders of the cells, in that of the reproduction.
func (a row) folders() []string {
	var all []string
	for _, c := range a.Cells {
		id := configs.Cell{Label: c.Label, Network: c.Network, Seed: c.Seed}.ID()
		all = append(all, path.Join(a.part.name, cells.CellsFolder, id))
	}
	return all
}

// accuracyOf returns the final accuracy of a cell, NaN if it has none.
func accuracyOf(c cells.Cell, kind study.AccuracyKind) float64 {
	if v := kind.Of(c); v != nil {
		return *v
	}
	return math.NaN()
}

// kindWords names the kind of accuracies where it is not the usual one.
func kindWords(kind study.AccuracyKind) string {
	if kind == study.OfReplicas {
		return ", means over replicas"
	}
	return ""
}

// target returns the target of a comparison, its loss first.
func (a row) target() (record.Target, bool) {
	all := a.part.study.Targets.List()
	if len(all) == 0 {
		return record.Target{}, false
	}
	return all[0], true
}

// reached returns when a cell reached the target, nil if it did not.
func reached(c cells.Cell, t record.Target) *record.Reached {
	if t.Metric == record.TestAccuracy {
		return c.ToAccuracy
	}
	return c.ToLoss
}
