package record

import (
	"strings"
	"testing"
)

func TestWatch(t *testing.T) {
	const dim = 10_000
	const step = 2. / 255 // of the grid of 256 levels and theta 1
	tests := []struct {
		name   string
		theta  float64
		moved  []int // by record
		levels int
		gap    float64
		warns  int // at which record, -1 = never
	}{
		{"nothing is exchanged", 16, []int{0, 0, 0, 0}, 0, 0, 2},
		{"next to nothing is exchanged", 16, []int{9, 9, 9, 9}, 0, 0, 2},
		{"a run that has met", 1, []int{500, 0, 0, 0, 0}, 0, 0, -1},
		{"a slow start", 1, []int{0, 0, 10, 0, 0, 0}, 0, 0, -1},
		{"full precision", 0, []int{0, 0, 0, 0}, 0, 0, -1},
		{"noise of the rounding", 1, []int{5000, 5000, 5000, 5000}, 256, 2 * step, 2},
		{"little and noise in turn", 1, []int{5000, 0, 5000, 0}, 256, 0, 2},
		{"differences of some steps", 1, []int{5000, 5000, 5000, 5000}, 256, 3 * step, -1},
		{"few levels know no more", 1, []int{5000, 5000, 5000, 5000}, 16, 2. / 15, -1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := Watch{Dim: dim, Levels: test.levels}
			for i, moved := range test.moved {
				said := w.See(Step{Round: 10 * (i + 1), Theta: test.theta, Moved: moved, Gap: test.gap})
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
