package node

import (
	"context"
	"errors"

	"github.com/libp2p/go-libp2p/core/network"

	"gossiptrainer/node/handshake"
)

// knock asks a neighbour that has not called to call: it may not know where this
// peer is since that was started anew. It is also how this peer learns that it
// will never be called, as a stranger or the twin of another process.
func (e *edge) knock(ctx context.Context) {
	s, err := e.links.host.Open(ctx, e.id, linkProtocol)
	if err == nil {
		forget := context.AfterFunc(ctx, func() { s.Reset() }) // it has called
		t := handshake.New(s)
		if err = t.Greet(e.links.admission, e.links.hello(), func(handshake.Hello) *RefusedError { return nil }); err == nil {
			err = t.Agree()
		}
		forget()
		s.Reset() // it calls on a stream of its own
	}
	if no, ok := errors.AsType[*RefusedError](err); ok && no.Reason != NotReady {
		e.failed(no)
		return
	}
	e.log.Debug("has not called", "err", err)
}

// answer is what one who opens the streams says to a knock.
func (e *edge) answer(t *handshake.Talk) {
	err := t.Greet(e.links.admission, e.links.hello(), func(theirs handshake.Hello) *RefusedError {
		if no := e.recognise(theirs); no != nil {
			return no
		}
		e.rouse()
		return handshake.Refusal(NotReady, "this end calls")
	})
	if no, ok := errors.AsType[*RefusedError](err); ok && no.Reason != NotReady {
		e.links.refused.Tell(e.log, "refused a peer", "refused "+no.Reason.String(), "why", no)
	}
}

// greet answers a stream that the neighbour opened and leaves it for run.
func (e *edge) greet(t *handshake.Talk) {
	if err := e.settle(t); err != nil {
		e.failed(err)
		return
	}
	e.deliver(t)
}

// deliver leaves a stream for run. It takes the place of an older one, which the
// neighbour has given up. If run has ended meanwhile, the stream must not stay open:
// the neighbour would take it for a link.
func (e *edge) deliver(t *handshake.Talk) {
	for {
		select {
		case e.arrived <- t:
			if e.links.ctx.Err() != nil {
				e.clear()
			}
			return
		case old := <-e.arrived:
			old.Stream.ResetWithError(network.StreamSupplanted)
		}
	}
}

// putBack leaves a stream that run has taken for its next turn, unless a newer one has come.
func (e *edge) putBack(t *handshake.Talk) {
	select {
	case e.arrived <- t:
	default:
		t.Stream.ResetWithError(network.StreamSupplanted)
	}
}

// clear resets the stream that waits for run, which has ended.
func (e *edge) clear() {
	select {
	case t := <-e.arrived:
		t.Stream.ResetWithError(network.StreamSupplanted)
	default:
	}
}
