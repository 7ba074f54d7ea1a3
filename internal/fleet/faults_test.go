package fleet

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gossiptrainer/internal/fault"
	"gossiptrainer/internal/record"
	"gossiptrainer/topology"
)

// playRounds is a peer that begins rounds until all its links are cut, and reports the conditions
// that hold. Its rounds are lost with its process.
func playRounds(ctx context.Context, client *Client, rank int) {
	say := func(state record.State, detail string) {
		client.Report(record.Event{Status: &record.Status{Rank: rank, State: state, Detail: detail}})
	}
	say(record.Training, "life "+os.Getenv("LAB_TEST_LIFE"))
	var once sync.Once
	alone := make(chan struct{})
	client.Obey(func(c Conditions) {
		say("", fmt.Sprintf("cut %v slow %v bits %v", c.Cut, c.Slow, c.Bits))
		if len(c.Cut) >= 2 {
			once.Do(func() { close(alone) })
		}
	})
	for round := 0; ; round++ {
		client.Begins(round)
		select {
		case <-alone:
			client.Done()
			return
		case <-ctx.Done():
			return
		case <-time.After(time.Millisecond):
		}
	}
}

// details returns the details of a peer's statuses, in order, from its first life on.
func (s *stage) details(rank int) []string {
	var all []string
	for _, e := range s.events {
		if e.Status != nil && e.Status.Rank == rank && !strings.HasPrefix(e.Status.Detail, "id") {
			all = append(all, e.Status.Detail)
		}
	}
	return all
}

func ranks(all ...topology.Rank) []topology.Rank { return all }

// A killed peer comes back and gets the present conditions, and a hanging one goes on. Peers also get
// the conditions of their links and speeds.
func TestAScriptIsPlayedOnProcesses(t *testing.T) {
	const ms = time.Millisecond
	s := &stage{t: t, script: []fault.Fault{
		{At: fault.Moment{Round: 3}, Kind: fault.Slow, Peers: ranks(1), By: 4, Lasts: fault.Never},
		{At: fault.Moment{Round: 5}, Kind: fault.Kill, Peers: ranks(1)},
		{At: fault.Moment{Round: 6}, Kind: fault.Kill, Peers: ranks(2), Lasts: 20 * ms},
		{At: fault.Moment{Timed: true, Time: 30 * ms}, Kind: fault.Hang, Peers: ranks(0), Lasts: 10 * ms},
		{At: fault.Moment{Round: 60}, Kind: fault.Rate, Peers: ranks(0), Bits: 1e5, Lasts: fault.Never},
		{At: fault.Moment{Round: 80}, Kind: fault.Split, Sides: [][]topology.Rank{{0}, {1}, {2}}, Lasts: time.Minute},
		{At: fault.Moment{Timed: true, Time: time.Hour}, Kind: fault.Kill, Peers: ranks(2)},
		{At: fault.Moment{Round: 1e7}, Kind: fault.Kill, Peers: ranks(0)},
	}}
	if err := s.run(t.Context(), "rounds", "rounds", "rounds"); err != nil {
		t.Fatal(err)
	}
	if want := []string{"kill 2", "kill 0"}; !slices.Equal(s.missed, want) {
		t.Errorf("told that %q did not happen, want %q", s.missed, want)
	}
	// Peer 1 is slow in its second life, too. The split may be there before it.
	for rank, want := range [][]string{
		{"life 0", "cut [] slow 0 bits 0", "cut [] slow 0 bits 100000", "cut [1 2] slow 0 bits 100000"},
		{"killed by the script", "life 1", "cut [0 2] slow 4 bits 0"},
		{"life 0", "killed by the script", "life 1", "cut [0 1] slow 0 bits 0"},
	} {
		said := s.details(rank)
		for _, detail := range want {
			at := slices.Index(said, detail)
			if at < 0 {
				t.Errorf("peer %d says %q, want %q in this order", rank, s.details(rank), want)
				break
			}
			said = said[at+1:]
		}
	}
	log := strings.Join(s.lines, "\n")
	for _, line := range []string{
		"1 fault: kill 1", "2 fault: kill 2 for 20ms", "0 fault: hang 0 for 10ms", "0 fault: rate 0 to 100000 bit/s",
	} {
		if !strings.Contains(log, line) {
			t.Errorf("the log lacks %q:\n%s", line, log)
		}
	}
}

// A peer that joins when the others are about to end waits for no place when they have ended.
func TestANewcomerWithoutAPlaceEndsWithTheRun(t *testing.T) {
	s := &stage{t: t, newcomers: []string{"wait"}, script: []fault.Fault{
		{At: fault.Moment{Round: 3}, Kind: fault.Join, Count: 1},
		{At: fault.Moment{Round: 40}, Kind: fault.Split, Sides: [][]topology.Rank{{0}, {1}, {2}}, Lasts: time.Minute},
	}}
	if err := s.run(t.Context(), "rounds", "rounds", "rounds"); err != nil {
		t.Fatal(err)
	}
	if want := "3 the run has ended before a member gave this peer a place"; !slices.Contains(s.lines, want) {
		t.Errorf("the log lacks %q:\n%s", want, strings.Join(s.lines, "\n"))
	}
}

// A peer that is dead for good is lost. The run does not wait for a peer that would come back after
// the others are done.
func TestPeersThatStayDead(t *testing.T) {
	s := &stage{t: t, restarts: 5, goOnWithout: func(f Failure) bool { return f.Died }, script: []fault.Fault{
		{At: fault.Moment{Round: 3}, Kind: fault.Kill, Peers: ranks(1), Lasts: fault.Never},
		{At: fault.Moment{Round: 4}, Kind: fault.Kill, Peers: ranks(2), Lasts: time.Hour},
		{At: fault.Moment{Round: 40}, Kind: fault.Split, Sides: [][]topology.Rank{{0}, {1}, {2}}, Lasts: time.Minute},
	}}
	if err := s.run(t.Context(), "rounds", "rounds", "rounds"); err != nil {
		t.Fatal(err)
	}
	lost := 0
	for _, e := range s.events {
		if e.Status != nil && e.Status.State == record.Lost && e.Status.Rank == 1 {
			lost++
		}
	}
	if lost != 1 || slices.Contains(s.details(1), "life 1") || slices.Contains(s.details(2), "life 1") {
		t.Errorf("peer 1 is lost %d times; the peers say %q and %q, want no second life", lost, s.details(1), s.details(2))
	}
}

// Without a policy that goes on, a peer that is dead for good ends the run.
func TestADeathForGoodEndsTheRun(t *testing.T) {
	s := &stage{t: t, restarts: 5, script: []fault.Fault{
		{At: fault.Moment{Round: 3}, Kind: fault.Kill, Peers: ranks(1), Lasts: fault.Never},
	}}
	err := s.run(t.Context(), "rounds", "rounds")
	if peer, ok := err.(*PeerError); !ok || peer.Rank != 1 || !strings.Contains(peer.Reason, "killed") {
		t.Errorf("got %v, want peer 1 killed", err)
	}
}

// Faults of earlier parts of the run do not happen again, and time goes on.
func TestAScriptGoesOnWhereTheRunDoes(t *testing.T) {
	hour := fault.Moment{Timed: true, Time: time.Hour}
	f := newFaults([]fault.Fault{{At: hour, Kind: fault.Kill, Peers: ranks(1)}}, time.Hour)
	if !f.see(record.Event{Status: &record.Status{State: record.Training}}) {
		t.Error("the run does not begin with its first round")
	}
	if changes := f.Until(f.now()); len(changes) != 1 {
		t.Errorf("%v after an hour, want one death", changes)
	}
}
