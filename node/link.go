package node

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/shape"
	"gossiptrainer/internal/wire"
	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/node/handshake"
	"gossiptrainer/node/socket"
)

// A frame may take as long as its link needs, but something must come in time:
// a writer with nothing to send sends signs of life. So silence means that the
// other end, or the way to it, is gone: a slow link carries bytes all the time,
// and a slow computation does not keep a writer from its signs. Pings would not
// do, since an answer has to wait behind what is on its way to who gives it.
const writeTime = 60 * time.Second // for a piece, of a neighbour that lives and does not read

// A link is one stream, with one goroutine that writes and one that reads. A
// frame that is only half read or written makes the stream unusable, so any
// error ends the link; the edge makes another.
type link struct {
	edge    *edge
	stream  network.Stream
	in      *bufio.Reader
	silence func() time.Duration // how long nothing has come; nil over QUIC
	epoch   uint64               // of the process at the other end
	out     *queue
	ended   sync.WaitGroup
	over    chan struct{} // closed when the link has ended, for whatever reason
	once    sync.Once
	why     error

	decoder entropy.Decoder
	coded   []byte // payload that came in coded

	mu          sync.Mutex
	told, heard bool // Bye was sent, was received
}

func newLink(e *edge, t *handshake.Talk) *link {
	k := &link{
		edge: e, stream: t.Stream, in: t.In, epoch: t.Theirs.Epoch,
		out: newQueue(), over: make(chan struct{}),
	}
	k.silence = socket.Silence(t.Stream.Conn())
	return k
}

func (k *link) start() {
	k.ended.Go(func() { k.fail(k.read()) })
	k.ended.Go(func() {
		if err := k.write(); err != nil {
			k.fail(err)
		}
	})
}

// fail ends the link; the first reason counts. Both goroutines notice at their
// next word with the stream.
func (k *link) fail(why error) {
	k.once.Do(func() {
		k.why = why
		close(k.over)
		k.stream.Reset()
	})
}

// wait waits for both goroutines. left says that both ends said Bye, so that
// nothing is missing and nobody waits.
func (k *link) wait() (why error, left bool) {
	<-k.over
	k.ended.Wait()
	return k.why, k.told && k.heard
}

// write sends what is queued until the link is over: after Bye that can only be
// what a neighbour that is not done asks for.
func (k *link) write() error {
	buf, due := make([]byte, min(shape.Record, k.edge.links.host.Pieces(k.edge.id))), deadline{set: k.stream.SetWriteDeadline, allow: writeTime}
	idle := time.NewTicker(k.edge.links.detect / beatsPerDetect)
	defer idle.Stop()
	for {
		o, ok := k.out.take(k.over, idle.C)
		if !ok {
			return nil
		}
		if o.alive && k.parted() {
			continue
		}
		h := k.header(o)
		payload, coder := o.open()
		h.Coder = coder
		if err := k.edge.links.heads.put(buf, o.message, h, payload); err != nil {
			return err
		}
		if err := k.send(buf, payload, &due); err != nil {
			return fmt.Errorf("send: %w", err)
		}
		k.edge.sent.count(h.Kind, len(o.frame.Payload), len(payload))
		o.close()
		if h.Kind == wire.Bye {
			if err := k.parting(func() { k.told = true }); err != nil {
				return err
			}
		}
	}
}

// The kinds of frames of a machine, on the wire.
var (
	toWire = [...]wire.Kind{
		gossip.Data: wire.Data, gossip.Request: wire.Request, gossip.Repair: wire.Repair,
		gossip.Place: wire.Resend, gossip.Durable: wire.Durable, gossip.Member: wire.Member, gossip.Bye: wire.Bye,
	}
	fromWire = map[wire.Kind]gossip.FrameKind{
		wire.Data: gossip.Data, wire.Request: gossip.Request, wire.Repair: gossip.Repair,
		wire.Resend: gossip.Place, wire.Durable: gossip.Durable, wire.Member: gossip.Member,
	}
)

// header describes what is to be sent.
func (k *link) header(o outgoing) wire.Header {
	epoch := k.edge.links.me.Epoch
	if o.alive {
		return wire.Header{Kind: wire.Alive, Epoch: epoch}
	}
	f := o.frame
	return wire.Header{Kind: toWire[f.Kind], Round: f.Round, Hop: f.Hop, Note: f.Note, Epoch: epoch}
}

// send writes the header that buf begins with and the payload. The beginning
// of the payload travels with the header, the rest without being copied.
func (k *link) send(buf, payload []byte, due *deadline) error {
	host, began := k.edge.links.host, time.Now()
	pieces := host.Pieces(k.edge.id)
	n := copy(buf[wire.HeaderLen:], payload)
	for next, rest := buf[:wire.HeaderLen+n], payload[n:]; len(next) > 0; {
		host.Pace(k.edge.id, len(next), k.over)
		due.extend()
		if _, err := k.stream.Write(next); err != nil {
			return err
		}
		n := min(len(rest), pieces)
		next, rest = rest[:n], rest[n:]
	}
	k.edge.sent.pace.note(len(payload), time.Since(began))
	return nil
}

// parting notes that one Bye has passed. Behind the second one this end closes
// its half of the stream, which tells the other that it has been heard.
func (k *link) parting(note func()) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	note()
	if k.told && k.heard {
		return k.stream.CloseWrite()
	}
	return nil
}

// parted reports whether this end has closed its half of the stream.
func (k *link) parted() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.told && k.heard
}

// read delivers what comes in until the stream ends.
func (k *link) read() error {
	var head [wire.HeaderLen]byte
	links, due := k.edge.links, deadline{set: k.stream.SetReadDeadline, allow: k.edge.links.detect}
	for {
		if err := k.full(head[:], nil, &due); err != nil {
			return k.readError(err)
		}
		h, err := wire.ParseHeader(head[:], links.limit)
		if err == nil && h.Epoch != k.epoch {
			err = errEpoch
		}
		if err != nil {
			return links.refused.frame(err)
		}
		payload, err := k.payload(h, &due)
		if err != nil {
			return err
		}
		k.edge.received.count(h.Kind, len(payload), h.Len)
		switch h.Kind {
		case wire.Alive:
			links.pool.put(payload)
			continue
		case wire.Bye:
			if err := k.bye(payload); err != nil {
				return err
			}
			continue
		case wire.Resend, wire.Durable, wire.Member:
			links.pool.put(payload)
			payload = nil
		}
		links.emit(Event{Kind: FrameIn, Peer: k.edge.rank, Frame: gossip.Frame{
			From: k.edge.rank, To: links.roster.Self, Kind: fromWire[h.Kind],
			Round: h.Round, Hop: h.Hop, Note: h.Note, Payload: payload,
		}})
	}
}

// bye takes in that the neighbour leaves: done, or because the run is over
// early.
func (k *link) bye(payload []byte) error {
	if len(payload) > 0 {
		why, err := handshake.ParseStop(payload, len(k.edge.links.roster.IDs))
		if err != nil {
			return k.edge.links.refused.frame(err)
		}
		k.edge.links.emit(Event{Kind: Stopped, Peer: k.edge.rank, Err: why})
	}
	return k.parting(func() { k.heard = true })
}

// payload reads, checks and decodes the payload that h announces.
func (k *link) payload(h wire.Header, due *deadline) ([]byte, error) {
	links := k.edge.links
	var payload []byte
	if h.Coder == entropy.Plain {
		payload = links.pool.get(h.Len)
	} else {
		k.coded = slices.Grow(k.coded[:0], h.Len)[:h.Len]
		payload = k.coded
	}
	if err := k.fill(payload, &h, due); err != nil {
		return nil, k.readError(err)
	}
	if err := h.Complete(); err != nil {
		return nil, links.refused.frame(err)
	}
	if h.Coder == entropy.Plain {
		return payload, nil
	}
	n, err := entropy.Len(k.coded, links.limit)
	if err != nil {
		return nil, links.refused.frame(err)
	}
	payload = links.pool.get(n)
	if err := k.decoder.Decode(payload, h.Coder, k.coded); err != nil {
		return nil, links.refused.frame(err)
	}
	return payload, nil
}

// fill reads payload, which follows h. The reader's buffer is far smaller than a
// message: what is longer goes straight to its place.
func (k *link) fill(payload []byte, h *wire.Header, due *deadline) error {
	began, awaited := time.Now(), len(payload)-k.in.Buffered()
	err := k.full(payload, h, due)
	k.edge.received.pace.note(awaited, time.Since(began))
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// full fills b as its bytes come, each part in time; h, if any, sees what follows
// it. The error is io.EOF if none came.
func (k *link) full(b []byte, h *wire.Header, due *deadline) error {
	for rest := b; len(rest) > 0; {
		due.extend()
		n, err := k.in.Read(rest)
		if h != nil {
			h.Follow(rest[:n])
		}
		rest = rest[n:]
		if err == nil || len(rest) == 0 || due.excuse(err, k.silence) {
			continue
		}
		if errors.Is(err, io.EOF) && len(rest) < len(b) {
			return io.ErrUnexpectedEOF
		}
		return err
	}
	return nil
}

var (
	errEpoch  = errors.New("frame of another life of this peer")
	errNoBye  = errors.New("the neighbour closed the link without a bye")
	errCutOff = errors.New("frame is cut off")
)

// readError tells a stream that ended between frames from one that ended
// within one.
func (k *link) readError(err error) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return k.edge.links.refused.frame(errCutOff)
	case errors.Is(err, io.EOF):
		return errNoBye // unless heard, and then nobody asks
	case late(err):
		k.edge.links.hangUp(k.stream.Conn()) // another stream of it would be no better
		return &silentError{k.edge.links.detect}
	default:
		return fmt.Errorf("receive: %w", handshake.Explain(err))
	}
}
