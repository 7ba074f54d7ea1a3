package link

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/network"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/wire"
)

// one numbers an exchange per round.
var one = gossip.Slots{Every: 1, Hops: 1, Lead: 1, Pieces: 2}

func TestMessagesWaitForTheirTurn(t *testing.T) {
	p := newPair(t, func(_ int, c *Config) { c.InTurn = &one })
	p.wants(t, 0, Up)
	p.wants(t, 1, Up)
	data := func(round int) gossip.Frame {
		return gossip.Frame{From: 0, To: 1, Round: round, Payload: []byte{byte(round)}}
	}
	p.links[0].Send([]gossip.Frame{data(0), data(1), data(2)})
	next := func() int {
		t.Helper()
		e := p.wants(t, 1, FrameIn)
		p.links[1].Recycle(e.Frame.Payload)
		return e.Frame.Round
	}
	if got := next(); got != 0 {
		t.Fatalf("round %d came first", got)
	}
	if early := len(p.links[1].Events()); early > 0 {
		t.Fatal("the message of round 1 came in round 0")
	}
	p.links[1].Control(gossip.Control{Kind: gossip.Introduce, Place: 1, Durable: gossip.Undurable})
	if got := next(); got != 1 {
		t.Fatalf("round %d came in round 1", got)
	}
	if early := len(p.links[1].Events()); early > 0 {
		t.Fatal("the message of round 2 came in round 1")
	}
	// The repair of a message of round 1 would stand behind that of round 2.
	p.links[1].Send([]gossip.Frame{{Kind: gossip.Request, From: 1, To: 0, Round: 1}})
	if got := next(); got != 2 {
		t.Fatalf("round %d came after the request", got)
	}
	p.wants(t, 0, FrameIn)
}

// A reader that waits for its turn does not keep the link alive.
func TestALinkCanBeLostBeforeItsTurn(t *testing.T) {
	p := newPair(t, func(_ int, c *Config) { c.InTurn = &one })
	p.wants(t, 0, Up)
	p.wants(t, 1, Up)
	p.links[0].Send([]gossip.Frame{{From: 0, To: 1, Round: 3, Payload: []byte("early")}})
	why := errors.New("dropped by a test")
	p.links[1].Control(gossip.Control{Kind: gossip.DropLink, Peer: 0, Why: why})
	if e := p.wants(t, 1, Down); !errors.Is(e.Err, why) {
		t.Errorf("down because of %v, want %v", e.Err, why)
	}
}

func TestWhichFramesAreReadNow(t *testing.T) {
	for _, test := range []struct {
		name         string
		kind         wire.Kind
		round, asked int // −1: not asked
		now          bool
	}{
		{"of the present exchange", wire.Data, 5, -1, true},
		{"of an earlier one, a duplicate", wire.Data, 4, -1, true},
		{"of a later one", wire.Data, 6, -1, false},
		{"of a later one, behind an old request", wire.Data, 6, 4, false},
		{"of a later one, before the repair of the present one", wire.Data, 6, 5, true},
		{"a repair", wire.Repair, 6, -1, true},
		{"a place", wire.Resend, 6, -1, true},
	} {
		n := neighbour{shared: new(shared), turn: newTurn()}
		n.InTurn = &one
		n.place.Store(5)
		if test.asked >= 0 {
			n.asks(gossip.Frame{Kind: gossip.Request, Round: test.asked})
		}
		if got := n.reads(wire.Header{Kind: test.kind, Round: test.round}); got != test.now {
			t.Errorf("%s: read now: %v, want %v", test.name, got, test.now)
		}
		n.InTurn = nil
		if !n.reads(wire.Header{Kind: test.kind, Round: test.round}) {
			t.Errorf("%s: it waits although messages are small", test.name)
		}
	}
}

// fullStream takes a few bytes a minute, and times out in between.
type fullStream struct {
	network.Stream
	deadline time.Time
	taken    []byte
}

func (s *fullStream) SetWriteDeadline(t time.Time) error {
	s.deadline = t
	return nil
}

func (s *fullStream) Write(b []byte) (int, error) {
	n := min(len(b), 10)
	s.taken = append(s.taken, b[:n]...)
	if n == len(b) {
		return n, nil
	}
	<-time.After(time.Until(s.deadline))
	return n, os.ErrDeadlineExceeded
}

// A neighbour that does not read for long gets its message if it shows signs of life. Otherwise the link is lost.
func TestAWriterWaitsForANeighbourThatLives(t *testing.T) {
	for _, lives := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			began, s := time.Now(), new(fullStream)
			silence := func() time.Duration { return time.Since(began) }
			if lives {
				silence = func() time.Duration { return time.Second }
			}
			w := &writer{
				link: &link{to: &neighbour{shared: new(shared)}, stream: s, in: incoming{silence: silence}},
				due:  deadline{set: s.SetWriteDeadline, allow: writeTime},
			}
			text := bytes.Repeat([]byte("0123456789"), 5)
			err := w.put(slices.Clone(text))
			if lives && (err != nil || !bytes.Equal(s.taken, text)) {
				t.Errorf("%q was taken, %v, want %q", s.taken, err, text)
			}
			if !lives && !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("error %v, want that the time is over", err)
			}
		})
	}
}

// A shelf is a payload on disk.
type shelf struct {
	text []byte
	err  error
}

func (s *shelf) Len() int                        { return len(s.text) }
func (s *shelf) Read(dst []byte) ([]byte, error) { return append(dst, s.text...), s.err }

func TestStoredPayloadsAreReadWhenTheyAreSent(t *testing.T) {
	w, s := newWriter(t)
	var want []byte
	for i := range 3 {
		text := bytes.Repeat([]byte{byte('a' + i)}, 40_000)
		w.out.put(outgoing{frame: gossip.Frame{Round: 1, Piece: i, Stored: &shelf{text: text}}})
		want = append(want, text...)
	}
	for {
		o, ok := w.out.next(1 << 20)
		if !ok {
			break
		}
		if err := w.send(o); err != nil {
			t.Fatal(err)
		}
	}
	text, got := slices.Concat(s.writes...), []byte(nil)
	if sent := names(t, text); !slices.Equal(sent, []string{"data 1.0", "data 1.1", "data 1.2"}) {
		t.Errorf("sent %v", sent)
	}
	for ; len(text) > 0; text = text[wire.HeaderLen+40_000:] {
		got = append(got, text[wire.HeaderLen:][:40_000]...)
	}
	if !bytes.Equal(got, want) {
		t.Error("other payloads were sent")
	}
	gone := errors.New("gone")
	if err := w.send(outgoing{frame: gossip.Frame{Stored: &shelf{err: gone}}}); !errors.Is(err, gone) {
		t.Errorf("error %v, want that of the log", err)
	}
}
