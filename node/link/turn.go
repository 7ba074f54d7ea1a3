package link

import (
	"sync/atomic"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/wire"
)

// A neighbour is at most Lead exchanges ahead. The messages of a large model are not read before their turn, so that
// memory holds one message of each neighbour: the windows of the stream stop the sender.
//
// A machine that waits for its turn to end waits for frames that stand before those of a later exchange. There is one
// exception: the repair of a message that is there already. So a link whose neighbour owes a repair of the present
// exchange reads everything.

// A turn tells the reader of a neighbour's link to look again at the place of the machine.
type turn struct {
	look  chan struct{}
	asked *atomic.Int64 // the last exchange that the machine has asked to repair, plus one
}

func newTurn() turn { return turn{look: make(chan struct{}, 1), asked: new(atomic.Int64)} }

func (t turn) wake() {
	select {
	case t.look <- struct{}{}:
	default:
	}
}

// asks notes a request for a repair.
func (n *neighbour) asks(f gossip.Frame) {
	if n.InTurn != nil {
		n.turn.asked.Store(int64(n.InTurn.Of(f.Round, f.Hop)) + 1)
		n.turn.wake()
	}
}

// reads reports whether the frame with header h is read now.
func (n *neighbour) reads(h wire.Header) bool {
	if n.InTurn == nil || h.Kind != wire.Data {
		return true
	}
	place := n.place.Load()
	return int64(n.InTurn.Of(h.Round, h.Hop)) <= place || n.turn.asked.Load() > place
}

// awaitTurn waits until the payload of h may be read, or the link is over. Connections that do not tell whether they
// are silent do not wait: their other ends could not tell waiting from death.
func (k *link) awaitTurn(h wire.Header) error {
	if k.in.silence == nil {
		return nil
	}
	for !k.to.reads(h) {
		select {
		case <-k.to.turn.look:
		case <-k.over:
			return k.why
		case <-k.to.ctx.Done():
			return k.to.ctx.Err()
		}
	}
	return nil
}
