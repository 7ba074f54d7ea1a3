package record

import (
	"fmt"
	"testing"
	"time"
)

// The steps of a leaver count no more once a view has no such member, and those of a newcomer begin to count. Its clock
// goes on from that of the others.
func TestProgressFollowsTheViews(t *testing.T) {
	view := func(v int, members ...int) Event {
		return Event{Status: &Status{Rank: members[0], View: &Membership{View: v, Members: members}}}
	}
	step := func(id, round int, loss float64, at time.Duration) Event {
		return Event{Step: &Step{Rank: id, Round: round, Loss: loss, Time: at * time.Second}}
	}
	r := Run{Events: []Event{view(0, 0, 1), view(0, 1, 0), step(0, 1, 1, 1), step(1, 1, 3, 1), view(1, 0, 2),
		step(1, 2, 9, 2), step(0, 2, 1, 2), step(2, 2, 2, 0), step(0, 3, 1, 3), step(2, 3, 0, 1), view(2, 2),
		step(2, 4, 5, 2)}}
	var got []string
	for _, m := range r.Progress() {
		got = append(got, fmt.Sprintf("%v: round %v loss %v", m.Time, m.Round, m.Loss))
	}
	const want = "[1s: round 1 loss 2 2s: round 2 loss 1.5 3s: round 3 loss 0.5 4s: round 4 loss 5]"
	if fmt.Sprint(got) != want {
		t.Errorf("%v, want %v", got, want)
	}
}
