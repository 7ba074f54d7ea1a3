package screen

import (
	"fmt"
	"time"

	"gossiptrainer/internal/record"
)

// A test is the progress of a final model's evaluation.
type test struct {
	since time.Time // zero: not begun
	share float64
}

// reach takes the finished share at time now.
func (t *test) reach(share float64, now time.Time) {
	if t.since.IsZero() {
		t.since = now
	}
	t.share = share
}

// left returns the remaining time at the pace so far; false before the pace is known.
func (t test) left(now time.Time) (time.Duration, bool) {
	if t.share <= 0 || t.share >= 1 {
		return 0, false
	}
	return time.Duration(float64(now.Sub(t.since)) * (1 - t.share) / t.share), true
}

// testing returns the current test, of all peers together or of their average model. There is none while a peer trains,
// and after the last test.
func (d *Dashboard) testing() (all test, what string, ok bool) {
	n := 0
	for i := range d.peers {
		p := &d.peers[i]
		if p.Gone() {
			continue
		}
		trains := p.State != record.Testing && p.State != record.Finished
		if trains && (p.Last.Round == 0 || p.Last.Round < d.run.Rounds || d.run.Rounds == 0) {
			return test{}, "", false
		}
		if s := p.test.since; !s.IsZero() && (all.since.IsZero() || s.Before(all.since)) {
			all.since = s
		}
		all.share += p.test.share
		n++
	}
	all.share /= max(1, float64(n))
	switch {
	case all.since.IsZero() || n == 0:
		return test{}, "", false
	case all.share < 1:
		return all, "tested", true
	}
	return d.average, "average tested", !d.average.since.IsZero() && d.average.share < 1
}

// left returns the time to the end of the rounds, and then to the end of the last test. It returns false if the pace is
// not known.
func (d *Dashboard) left(now time.Time) (time.Duration, bool) {
	if t, _, ok := d.testing(); ok {
		return t.left(now)
	}
	left, ok := d.Remaining(now)
	return left, ok && left > 0
}

// percent writes a share in a cell of the state: test 34%.
func (t test) percent() string { return fmt.Sprintf("test %.0f%%", 100*t.share) }
