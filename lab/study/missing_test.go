package study

import (
	"slices"
	"strings"
	"testing"

	"gossiptrainer/internal/cells"
)

func TestACaveatNamesTheCellsThatAreMissing(t *testing.T) {
	s := &Study{Comparison: cells.Comparison{
		Networks: []cells.Network{{Name: "slow"}, {Name: "fast"}}, Labels: []string{"A", "B"}, Seeds: []uint64{1, 2},
		Cells: []cells.Cell{{Label: "A", Network: "slow", Seed: 1, Status: cells.Done},
			{Label: "B", Network: "fast", Seed: 2, Status: cells.Failed}},
	}}
	s.Fewer = map[string]int{"B": 1}
	if got := s.Missing(); len(got) != 5 || slices.Contains(got, "B on slow, seed 2") {
		t.Errorf("missing %q, want 5, because B has the first seed alone", got)
	}
	s.Fewer = nil
	if got := s.Missing(); len(got) != 6 || got[0] != "A on slow, seed 2" {
		t.Errorf("missing %q, want the other 6", got)
	}
	want := "6 of 8 cells have not been run: A on slow, seed 2; B on slow, seed 1; B on slow, seed 2; " +
		"A on fast, seed 1; A on fast, seed 2; and 1 more: means are over fewer seeds, or rows are missing"
	if got := s.Caveats(); !slices.Contains(got, want) {
		t.Errorf("caveats\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
}
