package link

import (
	"fmt"
	"slices"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/shape"
	"gossiptrainer/internal/wire"
	"gossiptrainer/internal/wire/still"
)

// A frame may take as long as its link needs, but some bytes must come in time: an idle writer sends
// signs of life. So silence means that the other end, or the way to it, is dead. A slow link carries
// bytes all the time, and a slow computation does not delay a writer's signs. Pings would queue behind
// model data, and time out on a slow link although the neighbour lives.
const writeTime = 60 * time.Second // for a piece to a neighbour that lives but does not read

// A writer sends the frames of a link. It gathers small frames that wait together in one message of the multiplexer.
type writer struct {
	*link
	buf    []byte
	stored []byte // the last payload that was on disk
	due    deadline
}

// write sends the queued frames until both ends have parted, or the link is over. After Bye only answers to a
// neighbour that is not done can follow.
func (k *link) write() error {
	w := writer{
		link: k, buf: make([]byte, 0, shape.Chunk), due: deadline{set: k.stream.SetWriteDeadline, allow: writeTime},
	}
	idle := time.NewTicker(k.to.Detect / beatsPerDetect)
	defer idle.Stop()
	defer k.out.sent()
	for {
		o, ok := k.out.take(k.over, idle.C)
		if !ok {
			return nil
		}
		if k.parted() {
			o.close()
			continue
		}
		err := w.send(o)
		k.out.sent()
		switch {
		case k.parted(): // the reader waits for the end of the other half
			return nil
		case err != nil:
			return err
		}
	}
}

// send writes o and the frames that wait behind it, as many as fit into one message. A frame that is longer than the
// room begins in that message; the rest follows without being copied.
func (w *writer) send(o outgoing) error {
	room := w.to.Host.Pieces(w.to.id)
	w.buf = w.buf[:0]
	for {
		parts := o.frame.Kind == gossip.Bye || o.sign == wire.Rest
		rest, err := w.add(o, room)
		if err != nil {
			return err
		}
		next, more := outgoing{}, false
		if len(rest) == 0 && !parts {
			next, more = w.out.next(room - len(w.buf))
		}
		if more {
			o.close()
			o = next
			continue
		}
		if err := w.flush(rest, room); err != nil {
			return fmt.Errorf("send: %w", err)
		}
		o.close()
		if parts {
			return w.says(o.word())
		}
		return nil
	}
}

// add adds a frame to the message, and returns what has no room there.
func (w *writer) add(o outgoing, room int) (rest []byte, err error) {
	if err := w.load(&o); err != nil {
		return nil, err
	}
	h, at := w.header(o), len(w.buf)
	w.buf = slices.Grow(w.buf, wire.HeaderLen)[:at+wire.HeaderLen]
	payload, err := o.open(w.buf[at:], &h)
	if err != nil {
		return nil, err
	}
	w.to.sent.count(h, len(o.frame.Payload), len(payload))
	if h.Coder == still.Coder && !o.mailing.still.Again {
		w.to.sent.Leave(len(o.frame.Payload) - len(payload))
	}
	if h.Kind == wire.Data && h.Piece == 0 {
		w.to.sent.pace.begin()
	}
	n := min(len(payload), room-len(w.buf))
	w.buf = append(w.buf, payload[:n]...)
	return payload[n:], nil
}

// load reads the payload of o if it is on disk. It stays in memory until the next one is loaded.
func (w *writer) load(o *outgoing) (err error) {
	if o.frame.Stored == nil {
		return nil
	}
	if w.stored, err = o.frame.Stored.Read(w.stored[:0]); err != nil {
		return fmt.Errorf("send round %d hop %d piece %d again: %w", o.frame.Round, o.frame.Hop, o.frame.Piece, err)
	}
	o.frame.Payload = w.stored
	return nil
}

// flush writes the message, then rest in messages of its own.
func (w *writer) flush(rest []byte, room int) error {
	host, began, bytes := w.to.Host, time.Now(), len(w.buf)+len(rest)
	for next := w.buf; len(next) > 0; {
		host.Pace(w.to.id, len(next), w.over)
		if err := w.put(next); err != nil {
			return err
		}
		n := min(len(rest), room)
		next, rest = rest[:n], rest[n:]
	}
	w.to.sent.pace.add(bytes, time.Since(began))
	return nil
}

// put writes one message of the multiplexer. A neighbour that computes may leave messages of a later exchange in the
// stream. So put waits for a neighbour that does not read, as long as it shows signs of life.
func (w *writer) put(b []byte) error {
	w.due.extend()
	for {
		n, err := w.stream.Write(b)
		b = b[n:]
		if err == nil || !w.due.excuse(err, w.in.silence) {
			return err
		}
	}
}

// The kinds of frames of a machine, on the wire.
var (
	toWire = [...]wire.Kind{
		gossip.Data: wire.Data, gossip.Request: wire.Request, gossip.Repair: wire.Repair,
		gossip.Place: wire.Resend, gossip.Durable: wire.Durable, gossip.Member: wire.Member, gossip.Missing: wire.Missing,
		gossip.Bye: wire.Bye,
	}
	fromWire = map[wire.Kind]gossip.FrameKind{
		wire.Data: gossip.Data, wire.Request: gossip.Request, wire.Repair: gossip.Repair,
		wire.Resend: gossip.Place, wire.Durable: gossip.Durable, wire.Member: gossip.Member, wire.Missing: gossip.Missing,
	}
)

// header describes an outgoing frame.
func (k *link) header(o outgoing) wire.Header {
	epoch := uint32(k.to.Hello.Epoch)
	if o.sign != 0 {
		return wire.Header{Kind: o.sign, Hop: o.frame.Hop, Epoch: epoch}
	}
	f := o.frame
	return wire.Header{Kind: toWire[f.Kind], Round: f.Round, Hop: f.Hop, Piece: f.Piece, Note: f.Note, Epoch: epoch}
}
