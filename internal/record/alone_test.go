package record

import (
	"slices"
	"testing"
)

func TestWorkersThatEndByThemselves(t *testing.T) {
	edge := func(rank, peer, exchange int, weight float64) Event {
		return Event{Edge: &Edge{Rank: rank, Peer: peer, Exchange: exchange, Weight: weight}}
	}
	begin := []Event{edge(0, 1, 0, 0.5), edge(0, 2, 0, 0.5), edge(1, 0, 0, 0.5)}
	for name, test := range map[string]struct {
		later  []Event
		rounds int // for each exchange
		want   []Alone
	}{
		"all edges stay":           {nil, 1, nil},
		"one of two":               {[]Event{edge(0, 1, 10, 0)}, 1, nil},
		"both":                     {[]Event{edge(0, 1, 10, 0), edge(0, 2, 30, 0)}, 1, []Alone{{0, 30}}},
		"a worker of one edge":     {[]Event{edge(1, 0, 10, 0)}, 1, []Alone{{1, 10}}},
		"after the last round":     {[]Event{edge(1, 0, 90, 0)}, 1, nil},
		"a gap that was closed":    {[]Event{edge(1, 0, 10, 0), edge(1, 2, 12, 0.3)}, 1, nil},
		"four rounds per exchange": {[]Event{edge(1, 0, 10, 0)}, 4, []Alone{{1, 40}}},
		"another process":          {[]Event{edge(1, 1, 10, 0), edge(1, 2, 10, 0.3)}, 1, nil},
		"a stranger to the record": {[]Event{edge(2, 0, 10, 0)}, 1, nil},
	} {
		finals := []Final{{Rank: 0, Rounds: 90}, {Rank: 1, Rounds: 90}, {Rank: 2, Rounds: 90}}
		if got := SumAlone(slices.Concat(begin, test.later), finals, test.rounds); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
