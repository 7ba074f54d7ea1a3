package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"gossiptrainer/internal/record"
)

// playEnding is a peer of a run that ends early: it has begun 10 + rank rounds. In its first life
// it may die, or have finished all rounds.
func playEnding(ctx context.Context, client *Client, role string, rank int) {
	first := os.Getenv("LAB_TEST_LIFE") == "0"
	at := func(where string) {
		if role == "die "+where && first {
			self, _ := os.FindProcess(os.Getpid())
			self.Kill()
			select {}
		}
	}
	if role == "finished" {
		client.Held(10 + rank)
	} else if wait(ctx, client.Hold()) {
		at("holding")
		client.Held(10 + rank)
	}
	if role != "finished" && wait(ctx, client.Ended()) {
		at("knowing")
		client.Report(record.Event{Final: &record.Final{Rank: rank, Rounds: client.Last()}})
	}
	client.Done()
}

func wait(ctx context.Context, told <-chan struct{}) bool {
	select {
	case <-told:
		return true
	case <-ctx.Done():
		return false
	}
}

// finals returns the number of rounds that each peer reports, by rank.
func (s *stage) finals() map[int]int {
	all := map[int]int{}
	for _, e := range s.events {
		if e.Final != nil {
			all[e.Final.Rank] = e.Final.Rounds
		}
	}
	return all
}

func TestPeersAgreeOnTheEnd(t *testing.T) {
	tests := map[string]struct {
		roles       []string
		restarts    int
		goOnWithout bool
		want        map[int]int
	}{
		"all":                          {[]string{"hold", "hold", "hold"}, 0, false, map[int]int{0: 12, 1: 12, 2: 12}},
		"one has finished":             {[]string{"hold", "hold", "finished"}, 0, false, map[int]int{0: 12, 1: 12}},
		"one dies before it has said":  {[]string{"hold", "hold", "die holding"}, 1, false, map[int]int{0: 12, 1: 12, 2: 12}},
		"one dies when it knows":       {[]string{"hold", "die knowing", "hold"}, 1, false, map[int]int{0: 12, 1: 12, 2: 12}},
		"one is lost before it has":    {[]string{"hold", "hold", "die holding"}, 0, true, map[int]int{0: 11, 1: 11}},
		"one is lost that has said so": {[]string{"hold", "hold", "die knowing"}, 0, true, map[int]int{0: 12, 1: 12}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := &stage{t: t, restarts: test.restarts, end: make(chan struct{})}
			if test.goOnWithout {
				s.goOnWithout = func(f Failure) bool { return f.Died }
			}
			steps := 0
			s.onStep = func() {
				if steps++; steps == 3 {
					close(s.end)
				}
			}
			if err := s.run(t.Context(), test.roles...); err != nil {
				t.Fatal(err)
			}
			if got := s.finals(); fmt.Sprint(got) != fmt.Sprint(test.want) {
				t.Errorf("rounds by rank %v, want %v", got, test.want)
			}
		})
	}
}

// A run may be ended before its peers have met, or while it is stopped.
func TestAnEndAtAnyTime(t *testing.T) {
	s := &stage{t: t, end: make(chan struct{})}
	close(s.end)
	if err := s.run(t.Context(), "hold", "hold"); err != nil ||
		!slices.Equal([]int{s.finals()[0], s.finals()[1]}, []int{11, 11}) {
		t.Errorf("rounds %v, error %v, want 11", s.finals(), err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	why := errors.New("enough")
	s = &stage{t: t, end: make(chan struct{})}
	s.onStep = func() {
		cancel(why)
		select {
		case <-s.end:
		default:
			close(s.end)
		}
	}
	if err := s.run(ctx, "wait", "wait"); !errors.Is(err, why) {
		t.Errorf("error %v, want %v", err, why)
	}
}

// The end is not before a recorded round, even if no peer has reported its begin.
func TestNoRecordedRoundIsBeyondTheEnd(t *testing.T) {
	var end ending
	procs := make([]*process, 2)
	for i := range procs {
		procs[i] = &process{
			orders: make(chan order, ordersPerLife(1)), progress: progress{round: 20 + i, begun: 10, holds: true},
		}
	}
	end.hold(procs)
	for rank, p := range procs {
		if first, second := <-p.orders, <-p.orders; !first.Hold || second.End != 21 {
			t.Errorf("peer %d is told %+v and %+v, want to hold still and to end after 21 rounds", rank, first, second)
		}
	}
}
