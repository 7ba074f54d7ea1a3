package link

import (
	"fmt"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/shape"
	"gossiptrainer/internal/wire"
)

// A frame may take as long as its link needs, but some bytes must come in time: an idle writer sends
// signs of life. So silence means that the other end, or the way to it, is dead. A slow link carries
// bytes all the time, and a slow computation does not delay a writer's signs. Pings would queue behind
// model data, and time out on a slow link although the neighbour lives.
const writeTime = 60 * time.Second // for a piece to a neighbour that lives but does not read

// write sends the queued frames until the link is over. After Bye only answers to a neighbour that is
// not done can follow.
func (k *link) write() error {
	due := deadline{set: k.stream.SetWriteDeadline, allow: writeTime}
	buf := make([]byte, min(shape.Record, k.to.Host.Pieces(k.to.id)))
	idle := time.NewTicker(k.to.Detect / beatsPerDetect)
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
		if err := k.to.headers.put(buf, o.message, h, payload); err != nil {
			return err
		}
		if err := k.send(buf, payload, &due); err != nil {
			return fmt.Errorf("send: %w", err)
		}
		k.to.sent.count(h.Kind, len(o.frame.Payload), len(payload))
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

// header describes an outgoing frame.
func (k *link) header(o outgoing) wire.Header {
	epoch := uint32(k.to.Hello.Epoch)
	if o.alive {
		return wire.Header{Kind: wire.Alive, Epoch: epoch}
	}
	f := o.frame
	return wire.Header{Kind: toWire[f.Kind], Round: f.Round, Hop: f.Hop, Piece: f.Piece, Note: f.Note, Epoch: epoch}
}

// send writes the header that buf begins with and the payload. The beginning
// of the payload travels with the header, the rest without being copied.
func (k *link) send(buf, payload []byte, due *deadline) error {
	host, began := k.to.Host, time.Now()
	pieces := host.Pieces(k.to.id)
	n := copy(buf[wire.HeaderLen:], payload)
	for next, rest := buf[:wire.HeaderLen+n], payload[n:]; len(next) > 0; {
		host.Pace(k.to.id, len(next), k.over)
		due.extend()
		if _, err := k.stream.Write(next); err != nil {
			return err
		}
		n := min(len(rest), pieces)
		next, rest = rest[:n], rest[n:]
	}
	k.to.sent.pace.note(len(payload), time.Since(began))
	return nil
}
