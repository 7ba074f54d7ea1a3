package link

import (
	"context"
	"errors"
	"fmt"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/protocol"

	"gossiptrainer/gossip"
	"gossiptrainer/node/handshake"
	"gossiptrainer/node/socket"
)

// The two ends of an edge agree on one stream. The smaller peer id opens it, so that no two peers hold
// two streams. The other end answers, and asks for a call when none comes.

// Protocol is the protocol of streams that become links.
const Protocol protocol.ID = "/gossiptrainer/link/1.0.0"

// reach returns how far apart the neighbour and this worker may be.
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

// recognise refuses a neighbour in three cases. Its process is banned, it has a link as another
// process, or it has lost its model. The last case is a restart without a checkpoint where its place
// does not show that.
func (e *edge) recognise(theirs handshake.Hello) *handshake.RefusedError {
	if no := e.isBanned(theirs); no != nil {
		return no
	}
	if e.current() != nil && e.renewed(theirs) {
		return handshake.Duplicated(fmt.Sprintf("worker %d", e.rank))
	}
	if e.Fit.Elastic && e.Fit.Paced && theirs.Round > 0 && e.renewed(theirs) { // it has a place from another worker
		e.takeBack()
		return nil
	}
	if e.gone() {
		return handshake.Refusal(handshake.LeftBehind, "worker %d has gone on without worker %d", e.Hello.Rank, e.rank)
	}
	if e.Fit.Paced && !e.Fit.Elastic || theirs.Durable != gossip.Undurable || !e.renewed(theirs) {
		return nil
	}
	return handshake.Refusal(handshake.LostState, "worker %d has been restarted and keeps no checkpoint", e.rank)
}

// settle exchanges hellos and agrees or refuses.
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

// failed notes why there is no link, and tells the worker of a refusal.
func (e *edge) failed(err error) {
	if e.ctx.Err() != nil {
		return
	}
	e.retries.Add(1)
	duplicate := e.missed(err)
	no, refused := errors.AsType[*handshake.RefusedError](err)
	if !refused {
		handshake.Tell(e.Refused, e.log, "link refused", err)
		if twin, ok := errors.AsType[*socket.TwinError](err); ok {
			twin.Tell(e.Refused, e.log)
		}
		e.log.Debug("no link", "err", err)
		return
	}
	handshake.Tell(e.Refused, e.log, "link refused", err, "permanent", no.Permanent())
	if duplicate {
		no.Advice = e.Host.NewKey()
	}
	if no.Permanent() || duplicate {
		e.emit(Event{Kind: Refused, Peer: e.rank, Err: no})
	}
}

// dial calls the neighbour over the best way.
func (e *edge) dial(ctx context.Context) (*handshake.Talk, *contest, error) {
	c, opening, err := e.connect(ctx)
	var t *handshake.Talk
	if err == nil {
		t, err = e.call(ctx, c)
	}
	if err != nil && opening != nil {
		opening.close(nil)
		opening = nil
	}
	return t, opening, err
}

// call opens a stream to the neighbour and greets it; over any connection for nil.
func (e *edge) call(ctx context.Context, over network.Conn) (*handshake.Talk, error) {
	var s network.Stream
	var err error
	if over == nil {
		s, err = e.Host.Open(ctx, e.id, Protocol)
	} else {
		s, err = e.Host.OpenOn(ctx, over, Protocol)
	}
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { s.Reset() })
	t := handshake.New(s)
	if err = e.settle(t); err == nil && !stop() {
		err = context.Cause(ctx)
	}
	if err != nil {
		stop()
		return nil, err
	}
	return t, nil
}

// greet answers a stream that the neighbour has opened, and delivers it to run.
func (e *edge) greet(t *handshake.Talk) {
	if err := e.settle(t); err != nil {
		e.failed(err)
		return
	}
	e.deliver(t)
}

// askForCall asks a neighbour to call: it may not know the address of this peer since its restart. By
// the answer this peer also learns that no call will ever come, because it is not in the roster or a
// duplicate of another process.
func (e *edge) askForCall(ctx context.Context) {
	s, err := e.Host.Open(ctx, e.id, Protocol)
	if err == nil {
		forget := context.AfterFunc(ctx, func() { s.Reset() }) // the neighbour has called meanwhile
		t := handshake.New(s)
		err = t.Greet(e.Admission, e.hello(), func(handshake.Hello) *handshake.RefusedError { return nil })
		if err == nil {
			err = t.Agree()
		}
		forget()
		s.Reset() // the neighbour calls on a stream of its own
	}
	if answered(err) {
		e.failed(err)
		return
	}
	e.log.Debug("has not called", "err", err)
}

// wake answers a neighbour that asks for a call.
func (e *edge) wake(t *handshake.Talk) {
	err := t.Greet(e.Admission, e.hello(), func(theirs handshake.Hello) *handshake.RefusedError {
		if no := e.recognise(theirs); no != nil {
			return no
		}
		e.isAsked()
		e.rouse()
		return handshake.Refusal(handshake.NotReady, "this peer opens the stream")
	})
	if answered(err) {
		handshake.Tell(e.Refused, e.log, "refused a peer", err)
	}
}

// answered reports whether one end has refused the other, and not for the moment only, or has its identity.
func answered(err error) bool {
	_, twin := errors.AsType[*socket.TwinError](err)
	no, refused := errors.AsType[*handshake.RefusedError](err)
	_, unproven := errors.AsType[*handshake.UnprovenError](err)
	return twin || unproven || refused && no.Reason != handshake.NotReady
}

// deliver hands a stream to run. It replaces an older stream, which the neighbour has given up. If run
// has ended meanwhile, deliver resets the stream: the neighbour would take it for a link.
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

// putBack returns a stream for the next turn of run, unless a newer one has come.
func (e *edge) putBack(t *handshake.Talk) {
	select {
	case e.arrived <- t:
	default:
		t.Stream.ResetWithError(network.StreamSupplanted)
	}
}

// clear resets the stream that still waits when run has ended.
func (e *edge) clear() {
	select {
	case t := <-e.arrived:
		t.Stream.ResetWithError(network.StreamSupplanted)
	default:
	}
}
