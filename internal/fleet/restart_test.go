package fleet

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"gossiptrainer/internal/record"
)

func TestAPeerThatDiesIsStartedAgain(t *testing.T) {
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
		!strings.Contains(text, "1 its process ended: signal: killed after round 7: started again") {
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
	if n := strings.Count(strings.Join(s.lines, "\n"), "started again"); n != 3 {
		t.Errorf("started again %d times, want 3", n)
	}
}

func TestAPeerThatSaysWhyItGivesUpIsNotStartedAgain(t *testing.T) {
	s := &stage{t: t, restarts: 9}
	peer, ok := errors.AsType[*PeerError](s.run(t.Context(), "wait", "fail"))
	if !ok || peer.Code != 5 || strings.Contains(strings.Join(s.lines, "\n"), "started again") {
		t.Errorf("got %+v and the log %q, want its own words at once", peer, s.lines)
	}
}

// A peer may lose what a new process of it has, such as a child.
func TestAPeerThatMaySucceedAgainIsStartedAgain(t *testing.T) {
	s := &stage{t: t, restarts: 1}
	if err := s.run(t.Context(), "finish", "fail once"); err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(s.lines, "\n"); !strings.Contains(text, "1 the script was killed: started again") {
		t.Errorf("log %q, want the peer's own words", text)
	}
	s = &stage{t: t, restarts: 2}
	peer, ok := errors.AsType[*PeerError](s.run(t.Context(), "wait", "fail always"))
	if !ok || peer.Rank != 1 || peer.Code != 8 || peer.Reason != "the script was killed" ||
		peer.Hint != "look for memory" {
		t.Errorf("killed too often: got %+v, want the peer's own words", peer)
	}
	if n := strings.Count(strings.Join(s.lines, "\n"), "started again"); n != 2 {
		t.Errorf("started again %d times, want 2", n)
	}
	s = &stage{t: t, goOnWithout: func(f Failure) bool { return f.Died }}
	if err := s.run(t.Context(), "finish", "fail always", "finish"); err != nil {
		t.Errorf("the others did not go on: %v", err)
	}
}

// No peer waits for the bye of a finished one: neither a peer that works then, nor one that starts
// again later.
func TestPeersHearOfThoseThatHaveFinished(t *testing.T) {
	s := &supervisor{procs: make([]*process, 3), faults: newFaults(nil, 0)}
	for i := range s.procs {
		s.procs[i] = &process{orders: make(chan order, ordersPerLife(3))}
	}
	s.handle(news{rank: 2, notice: notice{Done: true}})
	s.handle(news{rank: 2, ended: true, err: errors.New("killed")})
	s.ending.catchUp(s.procs, s.procs[1].orders)
	for _, want := range []struct{ rank, orders int }{{0, 1}, {1, 2}, {2, 0}} {
		p := s.procs[want.rank]
		if len(p.orders) != want.orders {
			t.Errorf("peer %d has %d orders, want %d", want.rank, len(p.orders), want.orders)
		}
		for range len(p.orders) {
			if o := <-p.orders; !slices.Equal(o.Finished, []int{2}) {
				t.Errorf("peer %d is told %+v, want that peer 2 has finished", want.rank, o)
			}
		}
	}

	client := Attach(strings.NewReader(`{"finished":[2]}{"stop":true}`), io.Discard)
	<-client.ended
	if !client.Finished(2) || client.Finished(1) {
		t.Errorf("peers 1 and 2 have finished: %t and %t, want false and true", client.Finished(1), client.Finished(2))
	}
}
