package lab

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"gossiptrainer/internal/record"
)

func TestAPeerThatDiesIsStartedAnew(t *testing.T) {
	s := &stage{t: t, restarts: 1}
	if err := s.run(t.Context(), "finish", "die once", "finish"); err != nil {
		t.Fatal(err)
	}
	var rounds, scores []int
	returned, roster := 0, ""
	for _, e := range s.events {
		switch {
		case e.Final != nil && e.Final.Messages.Count != 3+4:
			t.Errorf("result %+v, want the messages of both lives", e.Final)
		case e.Step != nil && e.Step.Rank == 1 && e.Step.Round == 8 &&
			(e.Step.Sent.Wire != 10+8 || e.Step.Time < time.Second):
			t.Errorf("step %+v, want what has been sent and how long it took in both lives", e.Step)
		}
		switch {
		case e.Step != nil && e.Step.Rank == 1:
			rounds = append(rounds, e.Step.Round)
		case e.Score != nil:
			scores = append(scores, e.Score.Round)
		case e.Status != nil && e.Status.State == record.Returning && e.Status.Rank == 1:
			returned++
		case e.Status != nil && e.Status.Rank == 1:
			roster = e.Status.Detail
		}
	}
	if want := []int{7, 8}; !slices.Equal(rounds, want) || !slices.Equal(scores, []int{8}) {
		t.Errorf("rounds %v and scores %v, want %v and that of round 8: none twice", rounds, scores, want)
	}
	if want := "id0/ip4/127.0.0.1/tcp/00 id1/ip4/127.0.0.1/tcp/11 id2/ip4/127.0.0.1/tcp/02"; roster != want {
		t.Errorf("in its second life it was told %q, want %q", roster, want)
	}
	if text := strings.Join(s.lines, "\n"); returned != 1 ||
		!strings.Contains(text, "1 its process ended: signal: killed after round 7: started anew") {
		t.Errorf("%d statuses and the log %q, want one of each that tell of it", returned, text)
	}
}

func TestAPeerThatDiesTooOftenEndsTheRun(t *testing.T) {
	s := &stage{t: t, restarts: 3}
	err := s.run(t.Context(), "wait", "die always")
	peer, ok := errors.AsType[*PeerError](err)
	if !ok || peer.Rank != 1 || !strings.Contains(peer.Reason, "killed") {
		t.Errorf("got %v, want peer 1 killed", err)
	}
	if n := strings.Count(strings.Join(s.lines, "\n"), "started anew"); n != 3 {
		t.Errorf("started anew %d times, want 3", n)
	}
}

func TestAPeerThatSaysWhyItGivesUpIsNotStartedAnew(t *testing.T) {
	s := &stage{t: t, restarts: 9}
	peer, ok := errors.AsType[*PeerError](s.run(t.Context(), "wait", "fail"))
	if !ok || peer.Code != 5 || strings.Contains(strings.Join(s.lines, "\n"), "started anew") {
		t.Errorf("got %+v and the log %q, want its own words at once", peer, s.lines)
	}
}

// Nobody is to wait for the last word of one that had done its work and is gone: neither
// who is at work then nor who is started anew later.
func TestPeersHearOfThoseThatAreThrough(t *testing.T) {
	s := &supervisor{procs: make([]*process, 3), faults: newFaults(nil, 0)}
	for i := range s.procs {
		s.procs[i] = &process{orders: make(chan order, ordersPerLife(3))}
	}
	s.hear(news{rank: 2, notice: notice{Done: true}})
	s.hear(news{rank: 2, ended: true, err: errors.New("killed")})
	s.ending.brief(s.procs, s.procs[1].orders)
	for _, want := range []struct{ rank, orders int }{{0, 1}, {1, 2}, {2, 0}} {
		p := s.procs[want.rank]
		if len(p.orders) != want.orders {
			t.Errorf("peer %d has %d orders, want %d", want.rank, len(p.orders), want.orders)
		}
		for range len(p.orders) {
			if o := <-p.orders; !slices.Equal(o.Through, []int{2}) {
				t.Errorf("peer %d is told %+v, want that peer 2 is through", want.rank, o)
			}
		}
	}

	leash := Attach(strings.NewReader(`{"through":[2]}{"stop":true}`), io.Discard)
	<-leash.ended
	if !leash.Through(2) || leash.Through(1) {
		t.Errorf("peers 1 and 2 are through: %t and %t, want false and true", leash.Through(1), leash.Through(2))
	}
}
