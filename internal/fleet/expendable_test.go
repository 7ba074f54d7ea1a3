package fleet

import (
	"errors"
	"strings"
	"testing"

	"gossiptrainer/internal/record"
)

func TestTheRunGoesOnWithoutAPeerThatDied(t *testing.T) {
	s := &stage{t: t, goOnWithout: func(f Failure) bool { return f.Died }}
	if err := s.run(t.Context(), "finish", "die always", "finish"); err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(s.lines, "\n"); !strings.Contains(text,
		"1 its process ended: signal: killed after round 7: the run goes on without it") {
		t.Errorf("log %q, want that the run goes on without peer 1", text)
	}
	lost := 0
	for _, e := range s.events {
		if e.Status != nil && e.Status.State == record.Lost && e.Status.Rank == 1 &&
			strings.Contains(e.Status.Detail, "killed") {
			lost++
		}
	}
	if lost != 1 {
		t.Errorf("%d statuses tell that peer 1 is lost, want one", lost)
	}
}

func TestARunDoesNotGoOnWithoutAnyPeerOrAfterAFailure(t *testing.T) {
	tests := map[string][]string{
		"all die":             {"die always", "die always"},
		"one gives up itself": {"wait", "fail"},
	}
	for name, roles := range tests {
		t.Run(name, func(t *testing.T) {
			s := &stage{t: t, goOnWithout: func(f Failure) bool { return f.Died }}
			if err := s.run(t.Context(), roles...); err == nil {
				t.Error("no error")
			}
		})
	}
}

func TestAPeerThatEndsBeforeAllHaveMetEndsTheRun(t *testing.T) {
	s := &stage{t: t, goOnWithout: func(f Failure) bool { return f.Died }}
	err := s.run(t.Context(), "wait", "stillborn")
	peer, ok := errors.AsType[*PeerError](err)
	if !ok || peer.Rank != 1 || !peer.Unmet || !strings.Contains(err.Error(),
		"peer 1 (not all peers had met): its process ended: signal: killed") {
		t.Errorf("error %v, want that peer 1 ended before all had met", err)
	}
}

func TestAPeerThatEndsBeforeAllHaveMetIsStartedAgain(t *testing.T) {
	s := &stage{t: t, restarts: 1, goOnWithout: func(f Failure) bool { return f.Died }}
	if err := s.run(t.Context(), "finish", "stillborn"); err != nil {
		t.Fatal(err)
	}
	rosters := 0
	for _, e := range s.events {
		if e.Status != nil && strings.Contains(e.Status.Detail, "id1/ip4/127.0.0.1/tcp/11") {
			rosters++
		}
	}
	if rosters != 2 {
		t.Errorf("%d peers were told where its second process is, want both", rosters)
	}
}
