package report

import (
	"strings"
	"testing"
)

func TestWatch(t *testing.T) {
	const dim = 10_000
	tests := []struct {
		name  string
		theta float64
		moved []int // by record
		warns int   // at which record, -1 = never
	}{
		{"nothing is exchanged", 16, []int{0, 0, 0, 0}, 2},
		{"next to nothing is exchanged", 16, []int{9, 9, 9, 9}, 2},
		{"a run that has met", 1, []int{500, 0, 0, 0, 0}, -1},
		{"a slow start", 1, []int{0, 0, 10, 0, 0, 0}, -1},
		{"full precision", 0, []int{0, 0, 0, 0}, -1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := Watch{Dim: dim}
			for i, moved := range test.moved {
				said := w.See(Step{Round: 10 * (i + 1), Theta: test.theta, Moved: moved})
				if (said != "") != (i == test.warns) {
					t.Errorf("record %d: %q", i, said)
				}
				if said != "" && !strings.Contains(said, "far too large") {
					t.Errorf("record %d: %q does not say what is wrong", i, said)
				}
			}
		})
	}
}
