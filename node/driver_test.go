package node

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/journal"
	"gossiptrainer/internal/record"
	"gossiptrainer/node/link"
	"gossiptrainer/topology"
)

// A script is a Transport whose events a test writes.
type script struct {
	events chan link.Event
	sent   []gossip.Frame
	byes   []topology.Rank
	drops  []topology.Rank
	rounds int
	called []topology.Rank
	left   []topology.Rank

	durable int
	told    []gossip.Frame // frames about places, checkpoints and edges
	stops   []*StoppedError
}

func newScript() *script { return &script{events: make(chan link.Event, 100)} }

func (s *script) Send(frames []gossip.Frame) {
	for _, f := range frames {
		switch {
		case f.Kind == gossip.Bye:
			s.byes = append(s.byes, f.To)
		case f.Kind >= gossip.Place:
			s.told = append(s.told, f)
		default:
			s.sent = append(s.sent, f)
		}
	}
}

func (s *script) Control(c gossip.Control) {
	switch c.Kind {
	case gossip.CallPeer:
		s.called = append(s.called, c.Peer)
	case gossip.LeavePeer:
		s.left = append(s.left, c.Peer)
	case gossip.DropLink, gossip.BanPeer:
		s.drops = append(s.drops, c.Peer)
	case gossip.Introduce:
		s.rounds, s.durable = c.Place, c.Durable
	case gossip.StopRun:
		s.stops = append(s.stops, c.Why.(*StoppedError))
	}
}

func (s *script) Messages() record.Messages            { return record.Messages{} }
func (s *script) Status() []link.Status                { return nil }
func (s *script) Recycle([]byte)                       {}
func (s *script) Events() <-chan link.Event            { return s.events }
func (s *script) Trouble(topology.Rank) string         { return "cable cut" }
func (s *script) Bytes() (sent, received record.Bytes) { return record.Bytes{}, record.Bytes{} }
func (s *script) Close() error                         { return nil }
func (s *script) up(peers ...topology.Rank)            { s.each(link.Up, peers) }
func (s *script) down(peers ...topology.Rank)          { s.each(link.Down, peers) }
func (s *script) each(kind link.EventKind, p []topology.Rank) {
	for _, peer := range p {
		s.events <- link.Event{Kind: kind, Peer: peer}
	}
}

var _ transport = (*script)(nil)

// driverOf returns a driver of w whose transport is a script.
func driverOf(t testing.TB, w Worker, s *script) *driver {
	t.Helper()
	d, err := newDriver(w, s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// told lets a driver handle an event, and then do what its core asks for.
func (d *driver) told(e link.Event) error {
	if err := d.handle(e); err != nil {
		return err
	}
	return d.advance()
}

// drive runs worker 1 of a ring of three on a script until it ends.
func drive(t *testing.T, ctx context.Context, s *script, change func(w *Worker)) ([]record.Event, error) {
	t.Helper()
	w := task{n: 3, dim: 4, rounds: 5}.worker(t, 1)
	if change != nil {
		change(&w)
	}
	var events []record.Event
	d := driverOf(t, w, s)
	d.observe = func(e record.Event) { events = append(events, e) }
	err := d.run(ctx)
	return events, err
}

func TestWaitingNamesTheMissingEveryTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
		defer cancel()
		s := newScript()
		s.up(0)
		events, err := drive(t, ctx, s, nil)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("error %v, want the deadline's", err)
		}
		var waits []*record.Status
		for _, e := range events {
			if e.Status != nil && e.Status.State == record.Waiting {
				waits = append(waits, e.Status)
			}
		}
		if len(waits) != 2 {
			t.Fatalf("%d notes in 25 s, want 2", len(waits))
		}
		if !slices.Equal(waits[0].Missing, []int{0, 2}) || !strings.Contains(waits[0].Detail, "worker 2: cable cut") {
			t.Errorf("note %+v, want workers 0 and 2 and why", waits[0])
		}
	})
}

func TestLostNeighbour(t *testing.T) {
	tests := map[string]struct {
		policy LostPolicy
		back   bool // after 5 s
		lost   bool
	}{
		"wait":                   {Wait, false, false},
		"fail":                   {Fail, false, true},
		"fail, but it came back": {Fail, true, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				s := newScript()
				s.up(0, 2)
				s.down(2)
				if test.back {
					time.AfterFunc(5*time.Second, func() { s.up(2) })
				}
				_, err := drive(t, ctx, s, func(w *Worker) { w.Lost = test.policy })
				var net *NetworkError
				if errors.As(err, &net) != test.lost {
					t.Errorf("error %v, want a network error: %v", err, test.lost)
				}
				if test.lost && !strings.Contains(err.Error(), "lost worker 2: cable cut") {
					t.Errorf("error %v, want whom it lost and why", err)
				}
			})
		})
	}
}

func TestAWorkerFailsOnlyWhenAllRefuseIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		no := &RefusedError{Peer: "p", Reason: OtherSection, Section: "train", Detail: "section train differs", Remote: true}
		s := newScript()
		s.events <- link.Event{Kind: link.Refused, Peer: 0, Err: no}
		time.AfterFunc(30*time.Second, func() { s.events <- link.Event{Kind: link.Refused, Peer: 2, Err: no} })
		begun := time.Now()
		_, err := drive(t, ctx, s, nil)
		var net *NetworkError
		if !errors.As(err, &net) || !strings.Contains(err.Error(), "section train differs") {
			t.Errorf("error %v, want a network error that names the section", err)
		}
		if after := time.Since(begun); after != 30*time.Second {
			t.Errorf("failed after %v, want when the second neighbour refused", after)
		}
	})
}

func TestInterruptDoesNotWaitForTheGradient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		begun := time.Now()
		_, err := drive(t, ctx, newScript(), func(w *Worker) {
			w.Gradient = func([]float32, int, []float32) (float32, error) {
				time.Sleep(time.Hour)
				return 0, nil
			}
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want the deadline's", err)
		}
		if took := time.Since(begun) - 3*time.Second; took > time.Second {
			t.Errorf("took %v to notice", took)
		}
		time.Sleep(2 * time.Hour) // lets the gradient end, in the bubble's time
	})
}

func TestGradientErrorNamesWorkerAndRound(t *testing.T) {
	bad := errors.New("loss is NaN")
	_, err := drive(t, t.Context(), newScript(), func(w *Worker) {
		w.Gradient = func([]float32, int, []float32) (float32, error) { return 0, bad }
	})
	var training *TrainingError
	if !errors.As(err, &training) || training.Rank != 1 || training.Round != 0 || !errors.Is(err, bad) {
		t.Errorf("error %v, want a training error of worker 1 in round 0", err)
	}
}

func TestFramesThatAreNoUseAreCounted(t *testing.T) {
	w := task{n: 3, dim: 4, rounds: 5}.worker(t, 1)
	frame := func(round, hop, size int) gossip.Frame {
		return gossip.Frame{From: 0, To: 1, Round: round, Hop: hop, Payload: make([]byte, size)}
	}
	d := driverOf(t, w, newScript())
	if err := d.advance(); err != nil {
		t.Fatal(err)
	}
	for _, f := range []gossip.Frame{frame(0, 0, 16), frame(0, 0, 16), frame(4, 0, 16), frame(0, 7, 16)} {
		if err := d.told(link.Event{Kind: link.FrameIn, Peer: 0, Frame: f}); err != nil {
			t.Fatal(err)
		}
	}
	got := d.refused.Read()
	for _, reason := range []string{"duplicate", "early", "no such hop"} {
		if got[reason] != 1 {
			t.Errorf("%d frames refused as %s, want 1: %v", got[reason], reason, got)
		}
	}
}

func TestUnusableMessageDropsItsLinkAlone(t *testing.T) {
	s := newScript()
	w := task{n: 3, dim: 4, rounds: 5}.worker(t, 1)
	d := driverOf(t, w, s)
	if err := d.advance(); err != nil {
		t.Fatal(err)
	}
	short := gossip.Frame{From: 0, To: 1, Payload: make([]byte, 3)}
	whole := gossip.Frame{From: 2, To: 1, Payload: make([]byte, 16)}
	for _, f := range []gossip.Frame{short, whole} {
		if err := d.told(link.Event{Kind: link.FrameIn, Peer: f.From, Frame: f}); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.computed(outcome{g: make([]float32, 4)}); err != nil {
		t.Fatal(err)
	}
	if err := d.advance(); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(s.drops, []topology.Rank{0}) || d.refused.Read()["unusable"] != 1 {
		t.Errorf("dropped %v, counted %v, want the link to worker 0 for an unusable message", s.drops, d.refused.Read())
	}
}

func TestByeFollowsTheLastFrameOnEveryLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.up(0, 2)
		go func() { // the neighbours send all rounds, then say bye
			for k := range 5 {
				for _, from := range []topology.Rank{0, 2} {
					s.events <- link.Event{Kind: link.FrameIn, Peer: from,
						Frame: gossip.Frame{From: from, To: 1, Round: k, Payload: make([]byte, 16)}}
				}
				synctest.Wait()
			}
			s.down(2)
			s.up(2)
			synctest.Wait()
			s.each(link.PeerDone, []topology.Rank{0, 2})
		}()
		if _, err := drive(t, t.Context(), s, nil); err != nil {
			t.Fatal(err)
		}
		if want := []topology.Rank{0, 2, 2}; !slices.Equal(s.byes, want) {
			t.Errorf("said bye to %v, want %v: again on the new link", s.byes, want)
		}
		if s.rounds != 5 {
			t.Errorf("told of %d rounds, want 5", s.rounds)
		}
	})
}

func TestLeavesWithoutTheByeOfOneWhoIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.up(0, 2)
		go func() {
			for k := range 5 {
				for _, from := range []topology.Rank{0, 2} {
					s.events <- link.Event{Kind: link.FrameIn, Peer: from,
						Frame: gossip.Frame{From: from, To: 1, Round: k, Payload: make([]byte, 16)}}
				}
				synctest.Wait()
			}
			s.down(0, 2)
		}()
		if _, err := drive(t, t.Context(), s, nil); err != nil {
			t.Fatal(err)
		}
	})
}

func TestWhoCannotBeHelpedByOneEnds(t *testing.T) {
	no := &RefusedError{Peer: "p", Reason: LostState, Detail: "lost its place", Remote: true}
	d := driverOf(t, task{n: 3, dim: 4, rounds: 5}.worker(t, 1), newScript())
	var net *NetworkError
	if err := d.handle(link.Event{Kind: link.Refused, Peer: 2, Err: no}); !errors.As(err, &net) || !isUnwanted(err) ||
		!strings.Contains(err.Error(), "worker 2: refused by peer p: lost its place") {
		t.Errorf("one that has done nothing in this life: error %v, want whom it needs and why", err)
	} else if no, ok := errors.AsType[*RefusedError](err); !ok || !strings.Contains(no.Hint(), "without --resume") {
		t.Errorf("hint %q, want what to do", no.Hint())
	}
	d.round = 3
	if err := d.handle(link.Event{Kind: link.Refused, Peer: 2, Err: no}); err != nil {
		t.Errorf("one that was there before: %v, want that it waits", err)
	}
}

// A neighbour that came without its state may start again from its checkpoint. A worker that keeps the
// messages for that case waits, even if it has no other neighbour.
func TestANeighbourWithoutItsStateMayComeBackWithIt(t *testing.T) {
	refusal := link.Event{Kind: link.Refused, Peer: 0,
		Err: &RefusedError{Peer: "p", Reason: LostState, Detail: "lost its place"}}
	w := task{n: 2, dim: 4, rounds: 5}.worker(t, 1)
	d := driverOf(t, w, newScript())
	d.round = 3
	var net *NetworkError
	if err := d.handle(refusal); !errors.As(err, &net) {
		t.Errorf("without a log of messages: error %v, want that no neighbour works with it", err)
	}
	log, err := journal.Open(t.TempDir(), gossip.SlotsOf(w.Machine), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	w.Checkpoints = &Checkpoints{Journal: log}
	for name, round := range map[string]int{"in the middle of a run": 3, "that has just come back itself": 0} {
		d := driverOf(t, w, newScript())
		d.round = round
		if err := d.handle(refusal); err != nil {
			t.Errorf("%s: error %v, want that it waits", name, err)
		}
	}
}
