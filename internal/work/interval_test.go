package work

import (
	"testing"
	"time"
)

func TestIntervals(t *testing.T) {
	for _, test := range []struct {
		every       int
		after       time.Duration
		round, last int
		ago         time.Duration
		want        bool
	}{
		{0, 0, 100, -1, time.Hour, false},
		{5, 0, 0, -1, 0, true},
		{5, 0, 4, 0, 0, false},
		{5, 0, 5, 0, 0, true},
		{5, 0, 9, 5, 0, false},
		{5, 0, 12, 8, 0, true}, // nothing asked for round 10
		{5, 0, 12, 10, time.Hour, false},
		{0, time.Second, 3, 2, time.Second, true},
		{5, time.Second, 3, 2, time.Second - 1, false},
		{5, time.Second, 5, 4, 0, true},
	} {
		got := Interval{test.every, test.after}.Due(test.round, test.last, test.ago)
		if got != test.want {
			t.Errorf("%+v: due is %v", test, got)
		}
	}
}
