package link

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"

	"gossiptrainer/gossip"
	"gossiptrainer/node/handshake"
	"gossiptrainer/node/socket"
)

const (
	uncalled = 200 * time.Millisecond // wait before the end that does not open streams asks for a call
	steady   = 5 * time.Second        // a link that lived this long counts as a success
)

// run makes links until the transport is closed or the neighbour has left.
func (e *edge) run() {
	defer e.clear()
	ctx, wait := e.ctx, socket.FirstRetry
	for e.await(ctx); ctx.Err() == nil; e.await(ctx) {
		t, opening, err := e.next(ctx)
		if err != nil {
			e.failed(err)
			e.rest(ctx, err, &wait)
			continue
		}
		began := time.Now()
		ended := e.serve(ctx, t, opening)
		if ended == bye && e.dials {
			return
		}
		if ended == resting {
			e.release()
			wait = socket.FirstRetry
			continue
		}
		if time.Since(began) > steady {
			wait = socket.FirstRetry
		}
		if e.dials && len(e.arrived) == 0 {
			e.rest(ctx, nil, &wait)
		}
	}
}

// next waits for a stream on which both ends have agreed. The choice of its way may still be going on.
func (e *edge) next(ctx context.Context) (*handshake.Talk, *contest, error) {
	if e.dials {
		select {
		case t := <-e.arrived: // explore has moved the link
			return t, nil, nil
		default:
			return e.dial(ctx)
		}
	}
	ctx, end := context.WithCancel(ctx)
	var asking sync.WaitGroup
	defer asking.Wait()
	defer end()
	asking.Go(func() {
		for wait := uncalled; socket.Sleep(ctx, wait); wait = min(2*wait, socket.LastRetry) {
			if !e.rests() {
				e.askForCall(ctx)
			}
		}
	})
	select {
	case t := <-e.arrived: // the other end already has a link and waits
		return t, nil, nil
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
}

// rest waits before the next attempt, longer each time. After a lasting refusal it waits until the
// other process is gone or has got a place.
func (e *edge) rest(ctx context.Context, err error, wait *time.Duration) {
	no, refused := errors.AsType[*handshake.RefusedError](err)
	if handshake.Lasting(err) && !(e.Fit.Elastic && refused && no.AboutPlace()) {
		for socket.Sleep(ctx, time.Second) && e.Host.Network().Connectedness(e.id) == network.Connected {
		}
		*wait = socket.FirstRetry
		return
	}
	retry := time.NewTimer(*wait/2 + rand.N(*wait/2))
	defer retry.Stop()
	*wait = min(2**wait, socket.LastRetry)
	select {
	case <-retry.C:
	case <-e.awake:
		*wait = socket.FirstRetry
	case <-ctx.Done():
	}
}

// serve runs one link from beginning to end, and returns the word on which both ends have agreed.
func (e *edge) serve(ctx context.Context, t *handshake.Talk, opening *contest) (agreed word) {
	k := newLink(&e.neighbour, t)
	if e.order != nil {
		socket.Prompt(t.Stream.Conn())
	}
	met := gossip.Meeting{
		Theirs: t.Theirs.Round, Ours: t.Mine.Round, Durable: t.Theirs.Durable, Kept: t.Mine.Durable,
		Process: t.Theirs.Epoch, Renewed: e.renewed(t.Theirs),
	}
	e.set(k, nil)
	e.emit(Event{Kind: Up, Peer: e.rank, Met: met})
	e.log.Debug("link up", "address", t.Stream.Conn().RemoteMultiaddr())
	k.start()
	explored := e.explored(t.Stream.Conn(), opening)
	moved := false
	select {
	case <-k.over:
	case newer := <-e.arrived:
		k.fail(errNewLink)
		if old := t.Stream.Conn(); old != newer.Stream.Conn() {
			e.retire(old) // the neighbour has given the old link up, or cannot tell
		}
		moved = takes(newer, t)
		e.putBack(newer)
	case <-ctx.Done():
		k.fail(ctx.Err())
	}
	explored()
	agreed, err := k.wait()
	e.ways.trust(agreed == resting)
	if agreed == needed {
		e.isLost()
	}
	e.set(nil, err)
	switch agreed {
	case bye:
		e.part()
		e.log.Debug("neighbour has left")
		e.emit(Event{Kind: PeerDone, Peer: e.rank})
		return agreed
	case resting:
		e.log.Debug("link rests")
		e.emit(Event{Kind: Rested, Peer: e.rank})
		return agreed
	}
	if moved {
		e.log.Info("the link moves to another address")
		e.emit(Event{Kind: Down, Peer: e.rank, Err: err})
		return agreed
	}
	e.lost.Add(1)
	if _, silent := errors.AsType[*silentError](err); silent {
		e.silent.Add(1)
	}
	e.log.Info("link down", "why", err)
	e.emit(Event{Kind: Down, Peer: e.rank, Err: judged(err)})
	return agreed
}

// start begins to write and to read.
func (k *link) start() {
	k.ended.Go(func() { k.fail(k.read()) })
	k.ended.Go(func() {
		if err := k.write(); err != nil {
			k.fail(err)
		}
	})
}
