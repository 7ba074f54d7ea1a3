//go:build linux

package main

import (
	"strings"
	"testing"

	"gossiptrainer/internal/record"
)

// ring returns the record of a ring at its beginning.
func ring(n int) []record.Event {
	var all []record.Event
	for i := range n {
		for _, j := range []int{(i + n - 1) % n, (i + 1) % n} {
			all = append(all, on(i, j, 0, 1.0/3))
		}
	}
	return all
}

func on(rank, peer, exchange int, weight float64) record.Event {
	return record.Event{Edge: &record.Edge{Rank: rank, Peer: peer, Exchange: exchange, Weight: weight}}
}

func TestMatricesThatAreWrongAreFound(t *testing.T) {
	const w = 1.0 / 3
	closed := []record.Event{on(1, 2, 20, 0), on(3, 2, 21, 0), on(1, 3, 25, w), on(3, 1, 25, w)}
	tests := map[string]struct {
		more []record.Event
		want string // "": nothing
	}{
		"the gap is closed":   {closed, ""},
		"no peer has noticed": {nil, "no edge is on record as gone"},
		"the gap is open": {[]record.Event{on(1, 2, 20, 0), on(3, 2, 21, 0), on(0, 4, 30, 0), on(4, 0, 30, 0)},
			"nothing connects peers [3 4]"},
		"of two weights":          {append(closed, on(0, 1, 30, 0.2)), "W[0][1] is 0.2 but W[1][0] is 0.333"},
		"more than everything":    {append(closed, on(0, 1, 30, 0.9), on(1, 0, 30, 0.9)), "W[0][0] is -0.2"},
		"one end, for long":       {append(closed, on(0, 4, 30, 0), on(4, 0, 99, 0)), "only one end mixed in"},
		"one end, for an instant": {append(closed, on(0, 4, 30, 0), on(4, 0, 32, 0)), ""},
		"of an unknown peer":      {[]record.Event{on(1, 7, 20, w)}, "the run has workers 0 to 4"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			wrong := strings.Join(misweighed(append(ring(5), test.more...), 5, map[int]bool{2: true}), "\n")
			if (wrong == "") != (test.want == "") || !strings.Contains(wrong, test.want) {
				t.Errorf("%q, want %q", wrong, test.want)
			}
		})
	}
}
