package link

import (
	"errors"
	"fmt"
	"io"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/wire"
	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/internal/wire/still"
	"gossiptrainer/node/handshake"
)

// read delivers received frames until the stream ends.
func (k *link) read() error {
	var head [wire.HeaderLen]byte
	to, due := k.to, deadline{set: k.stream.SetReadDeadline, allow: k.to.Detect}
	for {
		if err := k.full(head[:], nil, &due); err != nil {
			return k.readError(err)
		}
		h, err := wire.ParseHeader(head[:], int(to.pool.most.Load()))
		if err == nil && h.Epoch != uint32(k.process) {
			err = errEpoch
		}
		if err != nil {
			return to.unused(err)
		}
		if err := k.awaitTurn(h); err != nil {
			return err
		}
		payload, err := k.payload(h, &due)
		if err != nil {
			return err
		}
		to.received.count(h, len(payload), h.Len)
		switch h.Kind {
		case wire.Alive:
			to.pool.Put(payload)
			continue
		case wire.Bye:
			if err := k.bye(payload); err != nil {
				return err
			}
			continue
		case wire.Rest:
			to.pool.Put(payload)
			if err := k.hears(need(h.Hop)); err != nil {
				return err
			}
			continue
		case wire.Resend, wire.Durable, wire.Member, wire.Missing:
			to.pool.Put(payload)
			payload = nil
		}
		to.emit(Event{Kind: FrameIn, Peer: to.rank, Frame: gossip.Frame{
			From: to.rank, To: to.Members.Self, Kind: fromWire[h.Kind],
			Round: h.Round, Hop: h.Hop, Piece: h.Piece, Note: h.Note, Payload: payload,
		}})
	}
}

// bye handles the neighbour's Bye: it is done, or it stops the run.
func (k *link) bye(payload []byte) error {
	if len(payload) > 0 {
		why, err := handshake.ParseStop(payload, len(k.to.Members.IDs))
		if err != nil {
			return k.to.unused(err)
		}
		k.to.emit(Event{Kind: Stopped, Peer: k.to.rank, Err: why})
	}
	return k.hears(bye)
}

// payload reads, checks and decodes the payload that h announces.
func (k *link) payload(h wire.Header, due *deadline) ([]byte, error) {
	to := k.to
	var payload []byte
	if h.Coder == entropy.Plain {
		payload = to.pool.Get(h.Len)
	} else {
		if cap(k.in.coded) < h.Len {
			k.in.coded = make([]byte, h.Len)
		}
		k.in.coded = k.in.coded[:h.Len]
		payload = k.in.coded
	}
	if err := k.fill(payload, &h, due); err != nil {
		return nil, k.readError(err)
	}
	if err := h.Complete(); err != nil {
		return nil, to.unused(err)
	}
	if h.Coder == entropy.Plain {
		return payload, nil
	}
	payload, err := k.decode(h.Coder, k.in.coded)
	if err != nil {
		return nil, to.unused(err)
	}
	return payload, nil
}

// decode returns the payload that a coder has coded.
func (k *link) decode(by entropy.Coder, coded []byte) ([]byte, error) {
	length, pool := entropy.Len, &k.to.pool
	if by == still.Coder {
		length = still.Len
	}
	n, err := length(coded, int(pool.most.Load()))
	if err != nil {
		return nil, err
	}
	payload := pool.Get(n)
	if by == still.Coder {
		return payload, k.to.mail.start.Decode(payload, coded)
	}
	return payload, k.in.decoder.Decode(payload, by, coded)
}

// fill reads payload, which follows h. The reader's buffer is far smaller than a message, so a longer
// payload goes straight to its place, chunk by chunk.
func (k *link) fill(payload []byte, h *wire.Header, due *deadline) error {
	if h.Kind == wire.Data && h.Piece == 0 {
		k.to.received.pace.begin()
	}
	began, awaited := time.Now(), len(payload)-k.in.Buffered()
	err := k.full(payload, h, due)
	k.to.received.pace.add(awaited, time.Since(began))
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// full fills b as its bytes come, each part within its time. h, if not nil, sees these bytes. The
// error is io.EOF if none came.
func (k *link) full(b []byte, h *wire.Header, due *deadline) error {
	for rest := b; len(rest) > 0; {
		due.extend()
		n, err := k.in.Read(rest)
		if h != nil {
			h.Follow(rest[:n])
		}
		rest = rest[n:]
		if err == nil || len(rest) == 0 || due.excuse(err, k.in.silence) {
			continue
		}
		if errors.Is(err, io.EOF) && len(rest) < len(b) {
			return io.ErrUnexpectedEOF
		}
		return err
	}
	return nil
}

// readError distinguishes the end of a stream between frames from one within a frame.
func (k *link) readError(err error) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return k.to.unused(errCutOff)
	case errors.Is(err, io.EOF):
		k.closed()
		return errNoBye // after the neighbour's Bye the reason is not used
	case late(err):
		k.to.hangUp(k.stream.Conn()) // another stream of this connection would not be better
		return &silentError{k.to.Detect}
	default:
		return fmt.Errorf("receive: %w", handshake.Explain(err))
	}
}
