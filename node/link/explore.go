package link

import (
	"context"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"

	"gossiptrainer/node/handshake"
	"gossiptrainer/node/socket"
)

// Times between two looks for a better way. They double from the first to the last one: soon where a faster way is
// known to be missing, rarely where one was never seen.
const (
	firstLook  = 2 * time.Second
	lastLook   = 10 * time.Second
	rarestLook = time.Minute
)

// explored begins to look for a better way than that of a link, at the end that dials. Its result ends the search.
func (e *edge) explored(now network.Conn, opening *contest) (end func()) {
	if !e.dials || e.Ways == nil || opening == nil && len(e.Ways(e.rank)) == 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(e.ctx)
	var exploring sync.WaitGroup
	exploring.Go(func() { e.explore(ctx, now, opening) })
	return func() {
		cancel()
		exploring.Wait()
	}
}

// explore looks for a better way while a link is up. It ends when it has found one and moves the link to it.
func (e *edge) explore(ctx context.Context, now network.Conn, opening *contest) {
	if opening != nil && e.settleOn(ctx, now, opening) {
		return
	}
	for wait := firstLook; socket.Sleep(ctx, wait); {
		routes, missed := e.promising(now)
		if len(routes) > 0 && e.settleOn(ctx, now, e.contend(nil, routes)) {
			return
		}
		most := rarestLook
		if missed {
			most = lastLook
		}
		wait = min(2*wait, most)
	}
}

// promising returns the routes that may be better than the present way, and whether one is known to be.
func (e *edge) promising(now network.Conn) (routes []socket.Route, missed bool) {
	at := e.ways.of(socket.Remote(now))
	for _, r := range e.Ways(e.rank) {
		w := e.ways.of(r.IP)
		if r.IP == at.ip {
			continue
		}
		w.gone = false
		best, known := fastest([]way{at, w}, at.ip, e.Limit)
		if w.speed == (socket.Speed{}) || known && best.ip == r.IP {
			routes = append(routes, r)
			missed = missed || w.speed != (socket.Speed{})
		}
	}
	return routes, missed
}

// settleOn waits for the end of a contest, and closes all connections but that of the best way. It reports whether it
// has moved the link to another one.
func (e *edge) settleOn(ctx context.Context, now network.Conn, c *contest) (moved bool) {
	better := c.conclude(ctx, now)
	if better != nil && e.move(ctx, better) {
		now, moved = better, true
	}
	c.close(now)
	for _, other := range e.Host.Network().ConnsToPeer(e.id) {
		if ctx.Err() == nil && other != now {
			e.retire(other)
		}
	}
	return moved
}

// move makes another link over a connection. It replaces the present one at both ends.
func (e *edge) move(ctx context.Context, to network.Conn) bool {
	if k := e.current(); k == nil || !k.stays() {
		return false
	}
	t, err := e.call(ctx, to)
	if err != nil {
		e.log.Debug("the link does not move to a better way", "address", to.RemoteMultiaddr(), "err", err)
		return false
	}
	e.deliver(t)
	return true
}

// takes reports whether a newer link takes the place of a link over another way.
func takes(newer, old *handshake.Talk) bool {
	return newer.Theirs.Epoch == old.Theirs.Epoch &&
		socket.Remote(newer.Stream.Conn()) != socket.Remote(old.Stream.Conn())
}

// retireTime is how long a connection that is not needed stays open for other streams, such as those of a roll call.
const retireTime = 10 * time.Second

// retire closes a connection that the links do not need when nothing else uses it.
func (s *shared) retire(c network.Conn) {
	s.wg.Go(func() {
		for until := time.Now().Add(retireTime); !socket.Idle(c, Protocol) && time.Now().Before(until); {
			if !socket.Sleep(s.ctx, retireTime/50) {
				return
			}
		}
		c.Close()
	})
}
