package link

import (
	"context"
	"errors"
	"fmt"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/protocol"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/node/handshake"
)

// How the two ends of an edge agree on a stream. The smaller peer id opens it, so that no two
// peers hold two. The other end answers, and asks to be called when no call comes.

// Protocol is what a stream is opened for that becomes a link.
const Protocol protocol.ID = "/gossiptrainer/link/1.0.0"

// reach says how far the neighbour may be from this worker.
func (e *edge) reach() handshake.Reach {
	r := handshake.Reach{Lead: e.Fit.Lead}
	if oldest := e.Fit.Oldest; oldest != nil {
		r.Kept = true
		if e.hears {
			r.Oldest = oldest()
		}
	}
	return r
}

// recognise refuses a neighbour whose process is banned, one that has a link
// already, as another process, and one that has been restarted without a
// checkpoint where its place does not tell: it has lost its model.
func (e *edge) recognise(theirs handshake.Hello) *handshake.RefusedError {
	if no := e.isBanned(theirs); no != nil {
		return no
	}
	if e.current() != nil && e.renewed(theirs) {
		return handshake.Duplicated(fmt.Sprintf("worker %d", e.rank))
	}
	if e.Fit.Elastic && e.Fit.Paced && theirs.Round > 0 && e.renewed(theirs) { // another worker has given it a place
		e.takeBack()
		return nil
	}
	if e.gone() {
		return handshake.Refusal(handshake.LeftBehind, "worker %d has gone on without worker %d", e.Hello.Rank, e.rank)
	}
	if e.Fit.Paced && !e.Fit.Elastic || theirs.Durable != gossip.Undurable || !e.renewed(theirs) {
		return nil
	}
	return handshake.Refusal(handshake.LostState, "worker %d has been started anew and keeps no checkpoint", e.rank)
}

// settle says hello and agrees or refuses.
func (e *edge) settle(t *handshake.Talk) error {
	mine := e.hello()
	err := t.Greet(e.Admission, mine, func(theirs handshake.Hello) *handshake.RefusedError {
		if no := mine.CompareShape(theirs); no != nil {
			return no
		}
		if no := e.recognise(theirs); no != nil {
			return no
		}
		no := mine.ComparePlace(theirs, e.rank, e.reach())
		if no != nil && e.Fit.Elastic && no.Reason == handshake.LostState {
			return nil
		}
		return no
	})
	e.learn(t.Theirs.Host)
	if err == nil {
		err = t.Agree()
	}
	if err != nil {
		t.Stream.ResetWithError(handshake.CodeRefused)
	}
	return err
}

// failed notes that no link came about, and tells the worker of a refusal.
func (e *edge) failed(err error) {
	if e.ctx.Err() != nil {
		return
	}
	e.retries.Add(1)
	duplicate := e.missed(err)
	var no *handshake.RefusedError
	if !errors.As(err, &no) {
		e.log.Debug("no link", "err", err)
		return
	}
	e.Refused.Tell(e.log, "link refused", "refused "+no.Reason.String(), "why", no, "permanent", no.Permanent())
	if no.Permanent() || duplicate {
		e.emit(Event{Kind: Refused, Peer: e.rank, Err: no})
	}
}

// dial opens a stream to the neighbour and greets it.
func (e *edge) dial(ctx context.Context) (*handshake.Talk, error) {
	s, err := e.Host.Open(ctx, e.id, Protocol)
	if err != nil {
		return nil, err
	}
	t := handshake.New(s)
	if err := e.settle(t); err != nil {
		return nil, err
	}
	return t, nil
}

// greet answers a stream that the neighbour opened and leaves it for run.
func (e *edge) greet(t *handshake.Talk) {
	if err := e.settle(t); err != nil {
		e.failed(err)
		return
	}
	e.deliver(t)
}

// askForCall asks a neighbour that has not called to call: it may not know where this
// peer is since its restart. It is also how this peer learns that it
// will never be called, as a stranger or a duplicate of another process.
func (e *edge) askForCall(ctx context.Context) {
	s, err := e.Host.Open(ctx, e.id, Protocol)
	if err == nil {
		forget := context.AfterFunc(ctx, func() { s.Reset() }) // it has called
		t := handshake.New(s)
		err = t.Greet(e.Admission, e.hello(), func(handshake.Hello) *handshake.RefusedError { return nil })
		if err == nil {
			err = t.Agree()
		}
		forget()
		s.Reset() // it calls on a stream of its own
	}
	if no, ok := errors.AsType[*handshake.RefusedError](err); ok && no.Reason != handshake.NotReady {
		e.failed(no)
		return
	}
	e.log.Debug("has not called", "err", err)
}

// wake answers a neighbour that asks to be called.
func (e *edge) wake(t *handshake.Talk) {
	err := t.Greet(e.Admission, e.hello(), func(theirs handshake.Hello) *handshake.RefusedError {
		if no := e.recognise(theirs); no != nil {
			return no
		}
		e.rouse()
		return handshake.Refusal(handshake.NotReady, "this end calls")
	})
	if no, ok := errors.AsType[*handshake.RefusedError](err); ok && no.Reason != handshake.NotReady {
		e.Refused.Tell(e.log, "refused a peer", "refused "+no.Reason.String(), "why", no)
	}
}

// deliver leaves a stream for run. It takes the place of an older one, which the
// neighbour has given up. If run has ended meanwhile, the stream must not stay open:
// the neighbour would take it for a link.
func (e *edge) deliver(t *handshake.Talk) {
	for {
		select {
		case e.arrived <- t:
			if e.ctx.Err() != nil {
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
