package node

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/wire"
	"gossiptrainer/node/link"
	"gossiptrainer/topology"
)

// accused returns a driver of worker 1 of a ring of three whose links are up.
func accused(t *testing.T, policy LostPolicy, tolerance int) (*driver, *script) {
	t.Helper()
	s, w := newScript(), task{n: 3, dim: 4, rounds: 5}.worker(t, 1)
	w.Lost, w.Tolerance = policy, tolerance
	d := driverOf(t, w, s)
	for _, rank := range []topology.Rank{0, 2} {
		if err := d.told(link.Event{Kind: link.Up, Peer: rank}); err != nil {
			t.Fatal(err)
		}
	}
	return d, s
}

// The limits of package judge.
const (
	tolerance = 8
	flood     = 1024
)

// nonsense is a frame that no honest worker sends.
func nonsense(from topology.Rank) link.Event {
	return link.Event{Kind: link.FrameIn, Peer: from, Frame: gossip.Frame{From: from, To: 1, Hop: 7}}
}

func TestTooManyOffencesEndTheRunUnderFail(t *testing.T) {
	d, _ := accused(t, Fail, 3)
	garbled := link.Event{Kind: link.Down, Peer: 2, Err: fmt.Errorf("%w: %w", wire.ErrChecksum, gossip.ErrForged)}
	offences := []link.Event{nonsense(2), garbled, nonsense(0), nonsense(2)}
	for i, e := range offences {
		err := d.told(e)
		if i < len(offences)-1 {
			if err != nil {
				t.Fatalf("offence %d: %v", i, err)
			}
			continue
		}
		var net *NetworkError
		const want = "worker 1 cut off worker 2 in round 0 after 3 offences (1 checksum, 2 no such hop), the last: "
		if !errors.As(err, &net) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
	if got := d.refused.blamed(); got[2]["no such hop"] != 2 || got[2]["checksum"] != 1 || got[0]["no such hop"] != 1 {
		t.Errorf("blamed: %v", got)
	}
}

func TestWhoIsCutOffIsHeardAgainAsAnotherProcess(t *testing.T) {
	d, s := accused(t, Wait, 0)
	var told []string
	d.observe = func(e record.Event) { told = append(told, e.Status.Detail) }
	for range tolerance {
		if err := d.told(nonsense(0)); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(s.drops, []topology.Rank{0}) || d.refused.Read()["cut off"] != 1 {
		t.Errorf("dropped %v, counted %v, want worker 0 cut off once", s.drops, d.refused.Read())
	}
	if len(told) != 1 || !strings.Contains(told[0],
		"worker 1 cut off worker 0 in round 0 after 8 offences (8 no such hop)") {
		t.Errorf("told %q, want who was cut off and why", told)
	}
	message := link.Event{Kind: link.FrameIn, Peer: 0, Frame: gossip.Frame{From: 0, To: 1, Payload: make([]byte, 16)}}
	for _, heard := range []bool{false, true} {
		if err := d.told(message); err != nil {
			t.Fatal(err)
		}
		if err := d.told(message); err != nil {
			t.Fatal(err)
		}
		if got := d.refused.Read()["duplicate"] == 1; got != heard {
			t.Errorf("heard %v, want %v", got, heard)
		}
		if err := d.told(link.Event{Kind: link.Up, Peer: 0}); err != nil {
			t.Fatal(err)
		}
	}
}

// A link begins with frames that its receiver already has; more of them than that are a replay.
func TestReplaysBeyondANewLinksAreOffences(t *testing.T) {
	d, s := accused(t, Wait, 0)
	old := link.Event{Kind: link.FrameIn, Peer: 2, Frame: gossip.Frame{From: 2, To: 1, Payload: make([]byte, 16)}}
	for range 1 + flood + tolerance - 1 {
		if err := d.told(old); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.drops) > 0 {
		t.Fatal("cut off before its time")
	}
	if d.told(old); !slices.Equal(s.drops, []topology.Rank{2}) {
		t.Errorf("dropped %v after a flood of old frames, want worker 2", s.drops)
	}
}
