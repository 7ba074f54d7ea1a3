package link

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"

	"gossiptrainer/internal/record"
	"gossiptrainer/node/socket"
)

// Two machines may share several networks. The end that opens the streams measures the ways to its neighbour when an
// edge opens, and uses the fastest one. An edge with a single way measures nothing.

// A way is an address of a neighbour, with the results of its trials.
type way struct {
	ip    netip.Addr
	speed socket.Speed // zero: it was never measured
	gone  bool         // it did not answer when it was tried last
}

// worthwhile is the speedup that another way must offer over the present one.
const worthwhile = 1.25

// leastMessage is the length for which ways are compared if messages are shorter: a handshake or a repair.
const leastMessage = 16 << 10

// fastest returns the way over which a message of some bytes arrives first, of those that answer. It prefers the way in
// use if that is nearly as good. ok is false if no way is known to answer.
func fastest(ways []way, now netip.Addr, bytes int) (best way, ok bool) {
	at, least := -1, time.Duration(0)
	for i, w := range ways {
		took := w.speed.Time(max(bytes, leastMessage))
		if w.ip != now {
			took = longer(took)
		}
		if !w.gone && w.speed != (socket.Speed{}) && (at < 0 || took < least) {
			at, least = i, took
		}
	}
	if at < 0 {
		return way{}, false
	}
	return ways[at], true
}

// longer returns a time for comparison with that of the way in use.
func longer(took time.Duration) time.Duration { return time.Duration(worthwhile * float64(took)) }

// ways are the ways to a neighbour that an edge knows.
type ways struct {
	mu    sync.Mutex
	known []way
	sure  bool  // the fastest way is used without measuring: the last link ended in good order
	bytes int64 // that were sent and received to measure
	at    netip.Addr
	over  string // name of the interface that reaches at
}

// note enters what a trial of a way has shown.
func (w *ways) note(ip netip.Addr, speed socket.Speed, answers bool, bytes int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bytes += bytes
	i := slices.IndexFunc(w.known, func(k way) bool { return k.ip == ip })
	if i < 0 {
		if len(w.known) >= mostKnown {
			w.known = slices.Delete(w.known, 0, 1)
		}
		i, w.known = len(w.known), append(w.known, way{ip: ip})
	}
	w.known[i].gone = !answers
	if speed != (socket.Speed{}) {
		w.known[i].speed = speed
	}
}

// mostKnown bounds the ways that an edge remembers.
const mostKnown = 16

// of returns the way with an address.
func (w *ways) of(ip netip.Addr) way {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := slices.IndexFunc(w.known, func(k way) bool { return k.ip == ip }); i >= 0 {
		return w.known[i]
	}
	return way{ip: ip}
}

// best is fastest for the known ways.
func (w *ways) best(now netip.Addr, bytes int) (way, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fastest(w.known, now, bytes)
}

// trust says whether the fastest way may be used without measuring.
func (w *ways) trust(sure bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sure = sure
}

func (w *ways) trusted() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sure
}

// path describes the ways for users, with the one in use.
func (w *ways) path(now netip.Addr) *record.Path {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.at != now {
		w.at, w.over = now, socket.InterfaceTo(now)
	}
	p := &record.Path{Way: record.Way{Address: now.String()}, Interface: w.over, Measuring: w.bytes}
	for _, k := range w.known {
		seen := record.Way{Address: k.ip.String(), Rate: k.speed.Rate, RTT: k.speed.RTT, Gone: k.gone}
		switch {
		case k.ip == now:
			p.Way = seen
		case k.speed != (socket.Speed{}):
			p.Others = append(p.Others, seen)
		}
	}
	slices.SortStableFunc(p.Others, func(a, b record.Way) int { return int(b.Rate/1e3) - int(a.Rate/1e3) })
	return p
}

// path returns the way over which the link goes. It is nil without a link, and for a neighbour on this machine.
func (e *edge) path() *record.Path {
	k := e.current()
	if k == nil {
		return nil
	}
	ip := socket.Remote(k.stream.Conn())
	if !ip.IsValid() || ip.IsLoopback() {
		return nil
	}
	return e.ways.path(ip)
}

// connect returns the connection for the next link. It is nil where the neighbour has a single way: then any one will
// do. The contest that has chosen it may still be going on.
func (e *edge) connect(ctx context.Context) (network.Conn, *contest, error) {
	if e.Ways == nil {
		return nil, nil, nil
	}
	routes := e.Ways(e.rank)
	if len(routes) == 0 {
		return nil, nil, nil
	}
	if c := e.remembered(ctx, routes); c != nil {
		return c, nil, nil
	}
	if err := e.Host.Reach(ctx, e.id); err != nil {
		return nil, nil, err
	}
	conns := e.connections()
	routes = slices.DeleteFunc(routes, func(r socket.Route) bool { return has(conns, r.IP) })
	if len(conns)+len(routes) < 2 {
		return nil, nil, nil
	}
	if err := e.ready(ctx, conns[0]); err != nil {
		return nil, nil, err
	}
	c := e.contend(conns, routes)
	won, err := c.winner(ctx)
	return won, c, err
}

// ready fails if the neighbour does not answer probes yet. Its other ways are not worth a dial before it does.
func (e *edge) ready(ctx context.Context, over network.Conn) error {
	s, err := e.Host.OpenOn(ctx, over, socket.ProbeProtocol)
	if err == nil {
		s.Reset()
	}
	return err
}

// remembered returns a connection over the way that was the fastest one, nil if it does not answer.
func (e *edge) remembered(ctx context.Context, routes []socket.Route) network.Conn {
	best, known := e.ways.best(netip.Addr{}, e.Limit)
	if !known || !e.ways.trusted() {
		return nil
	}
	for _, c := range e.connections() {
		if socket.Remote(c) == best.ip {
			return c
		}
	}
	i := slices.IndexFunc(routes, func(r socket.Route) bool { return r.IP == best.ip })
	if i < 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, dialWay)
	defer cancel()
	c, err := e.Host.Dial(ctx, e.id, routes[i])
	if err != nil {
		e.ways.trust(false)
		return nil
	}
	return c
}

// connections returns one connection to the neighbour per way.
func (e *edge) connections() []network.Conn {
	var conns []network.Conn
	for _, c := range e.Host.Network().ConnsToPeer(e.id) {
		if !c.IsClosed() && !has(conns, socket.Remote(c)) {
			conns = append(conns, c)
		}
	}
	return conns
}

// has reports whether one of the connections goes to an address.
func has(conns []network.Conn, ip netip.Addr) bool {
	return slices.ContainsFunc(conns, func(c network.Conn) bool { return socket.Remote(c) == ip })
}
