package link

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/network"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/shape"
	"gossiptrainer/internal/wire"
	"gossiptrainer/node/handshake"
)

// A recordingStream records the bytes of each write.
type recordingStream struct {
	network.Stream
	writes [][]byte
}

func (s *recordingStream) Write(b []byte) (int, error) {
	s.writes = append(s.writes, bytes.Clone(b))
	return len(b), nil
}

// newWriter returns a writer whose stream records.
func newWriter(t *testing.T) (*writer, *recordingStream) {
	t.Helper()
	p, s := newPair(t, nil), new(recordingStream)
	k := newLink(&p.links[0].edge(1).neighbour, &handshake.Talk{Stream: p.stream(t)})
	k.stream = s
	return &writer{link: k, due: deadline{set: func(time.Time) error { return nil }, allow: time.Hour}}, s
}

// stream returns the stream of the link of worker 0.
func (p *pair) stream(t *testing.T) network.Stream {
	t.Helper()
	p.wants(t, 0, Up)
	return p.links[0].edge(1).current().stream
}

// names returns the kinds, rounds and pieces of the frames in a text.
func names(t *testing.T, text []byte) (names []string) {
	t.Helper()
	for len(text) > 0 {
		h, err := wire.ParseHeader(text, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, fmt.Sprint(h.Kind, " ", h.Round, ".", h.Piece))
		text = text[wire.HeaderLen:]
		if err := wire.Verify(h, text[:h.Len]); err != nil {
			t.Fatal(err)
		}
		text = text[h.Len:]
	}
	return names
}

// A repair that a neighbour waits for does not wait behind the next model. Frames about places, checkpoints and edges
// keep their order with messages.
func TestRequestsAndRepairsOvertake(t *testing.T) {
	w, s := newWriter(t)
	for i, kind := range []gossip.FrameKind{
		gossip.Data, gossip.Place, gossip.Member, gossip.Repair, gossip.Data, gossip.Request, gossip.Durable, gossip.Repair,
		gossip.Bye,
	} {
		w.out.put(outgoing{frame: gossip.Frame{Kind: kind, Round: i}})
	}
	o, _ := w.out.take(nil, nil)
	if err := w.send(o); err != nil {
		t.Fatal(err)
	}
	want := []string{"repair 3.0", "request 5.0", "repair 7.0", "data 0.0", "resend 1.0", "member 2.0", "data 4.0",
		"durable 6.0", "bye 8.0"}
	if got := names(t, slices.Concat(s.writes...)); !slices.Equal(got, want) {
		t.Errorf("sent %v, want %v", got, want)
	}
	if _, ok := w.out.next(1 << 20); ok || w.told != bye {
		t.Errorf("a frame is left: %v; bye told: %v", ok, w.told)
	}
}

func TestSmallFramesThatWaitLeaveTogether(t *testing.T) {
	const piece = 8 << 10
	w, s := newWriter(t)
	var want []string
	for i := range 20 {
		w.out.put(outgoing{frame: gossip.Frame{Round: 1, Piece: i, Payload: bytes.Repeat([]byte{byte(i)}, piece)}})
		want = append(want, fmt.Sprint("data 1.", i))
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
	if got := names(t, slices.Concat(s.writes...)); !slices.Equal(got, want) {
		t.Errorf("sent %v, want %v", got, want)
	}
	for i, b := range s.writes {
		if full := len(b)/(piece+wire.HeaderLen) == shape.Chunk/(piece+wire.HeaderLen); len(b) > shape.Chunk ||
			!full && i < len(s.writes)-1 {
			t.Errorf("write %d has %d bytes, want whole frames of at most %d", i, len(b), shape.Chunk)
		}
	}
	if m := w.to.sent.Messages().Count; m != 1 {
		t.Errorf("%d messages counted, want the one in 20 pieces", m)
	}
	if got, want := w.to.sent.Messages().Stream, int64(20*(piece+wire.HeaderLen)); got != want {
		t.Errorf("%d bytes of messages counted, want %d", got, want)
	}
}

// A message of any length leaves in chunks, and only its beginning is copied.
func TestLongFramesLeaveInChunks(t *testing.T) {
	w, s := newWriter(t)
	payload := bytes.Repeat([]byte("0123456789abcde"), 20_000)
	if err := w.send(outgoing{frame: gossip.Frame{Payload: payload}}); err != nil {
		t.Fatal(err)
	}
	for i, b := range s.writes[:len(s.writes)-1] {
		if len(b) != shape.Chunk {
			t.Errorf("write %d has %d bytes, want %d", i, len(b), shape.Chunk)
		}
	}
	if text := slices.Concat(s.writes...); !bytes.Equal(text[wire.HeaderLen:], payload) {
		t.Error("another payload was sent")
	}
	if cap(w.buf) > 2*shape.Chunk {
		t.Errorf("a buffer of %d bytes", cap(w.buf))
	}
}
