package study

import (
	"testing"
	"time"

	"gossiptrainer/internal/record"
)

// The accuracy at a time is the last one that the run had by then, and bits are those of the first and last record.
func TestAccuracyAndBitsAtATime(t *testing.T) {
	at := func(seconds, round, bits float64) record.Moment {
		return record.Moment{Time: time.Duration(seconds * 1e9), Round: round, Bits: bits}
	}
	g := &Group{runs: map[uint64]*trace{1: {
		moments: []record.Moment{at(1, 10, 2), at(2, 20, 2.5), at(3, 30, 4)},
		curve:   []record.Point{{Round: 10, Accuracy: 0.5}, {Round: 25, Accuracy: 0.7}, {Round: 30, Accuracy: 0.8}},
	}}}
	for seconds, want := range map[float64]float64{1: 0.5, 2.9: 0.5, 3: 0.8, 9: 0.8} {
		if got := g.AccuracyAt(1, seconds); got == nil || *got != want {
			t.Errorf("accuracy after %v s: %v, want %v", seconds, got, want)
		}
	}
	if early, other := g.AccuracyAt(1, 0.5), g.AccuracyAt(2, 3); early != nil || other != nil {
		t.Errorf("accuracies %v before the first record and %v of a seed that was not run, want none", early, other)
	}
	if first, last := g.BitsOf(1); first != 2 || last != 4 {
		t.Errorf("bits %v and %v, want 2 and 4", first, last)
	}
	if first, last := g.BitsOf(2); first != 0 || last != 0 {
		t.Errorf("bits %v and %v of a seed that was not run", first, last)
	}
}
