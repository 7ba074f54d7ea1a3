package members

import (
	"log/slog"
	"sync"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/internal/work"
	"gossiptrainer/node/socket"
	"gossiptrainer/quant"
)

// A coder codes messages. That may be slow: other goroutines do it, and lanes show signs of life meanwhile.
type coder struct {
	how     work.Coding
	refused *socket.Refusals
	log     *slog.Logger
	last    *coding // nil: no message was coded yet
	wg      sync.WaitGroup
	mu      sync.Mutex // guards encoder
	encoder *entropy.Encoder
}

// A coding is the coded form of a message, which several lanes may send.
type coding struct {
	message gossip.Frame
	done    chan struct{}
	by      entropy.Coder // Plain: the payload travels as it is
	coded   []byte
}

// is reports whether a frame is that of the message: machines use their buffers again in later rounds.
func (c *coding) is(f gossip.Frame) bool {
	return c != nil && c.message.Round == f.Round && c.message.Hop == f.Hop && c.message.Piece == f.Piece &&
		&c.message.Payload[0] == &f.Payload[0] && len(c.message.Payload) == len(f.Payload)
}

// made reports whether the coded form is there.
func (c *coding) made() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// of returns what travels of a frame, once the coded form is there.
func (c *coding) of(f *gossip.Frame) (entropy.Coder, []byte) {
	if c == nil || c.by == entropy.Plain {
		return entropy.Plain, f.Payload
	}
	return c.by, c.coded
}

// code begins to code a message, unless it was posted to another member just before. It returns nil for a frame that is
// not coded. All links of a run have one rate, so what pays on one of them pays on all.
func (r *coder) code(f gossip.Frame, cost entropy.LinkCost) *coding {
	if r.how.Entropy == entropy.Plain || f.MessageBytes() == 0 {
		return nil
	}
	if r.last.is(f) {
		return r.last
	}
	c := &coding{message: f, done: make(chan struct{})}
	r.last = c
	parts := quant.Bytes(len(f.Payload))
	if r.how.Layout != nil {
		parts = r.how.Layout(f) // knows the state of the machine, so not in the goroutine
	}
	r.wg.Go(func() {
		defer close(c.done)
		r.mu.Lock()
		defer r.mu.Unlock()
		var err error
		if c.coded, c.by, err = r.encoder.Encode(nil, f.Payload, parts, cost); err != nil {
			r.refused.Count("not coded")
			r.log.Warn("a message is sent without entropy coding", "round", f.Round, "hop", f.Hop, "piece", f.Piece, "why", err)
		}
	})
	return c
}
