// Package join brings a peer into a run. It has the gate that refuses connections, the roster,
// discovery by multicast, and the roll call, by which peers without a roster agree on their members.
//
// Its result is a Roster, which has the rank and the addresses of every worker. It makes no links
// between workers: package link does.
package join

import (
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/connmgr"
	"github.com/libp2p/go-libp2p/core/control"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/libp2p/go-libp2p/x/rate"
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"

	"gossiptrainer/node/handshake"
	"gossiptrainer/node/socket"
)

// A Gate refuses connections from outside at three points. It checks the address before it reads a
// byte, and the id after the handshake. Before the members are known, it closes connections whose
// peers do not prove in time that they belong.
//
// A caller that is not on the roster often has the wrong file. So the gate lets a few in, who then
// receive a reason; the rest find a closed connection.
type Gate struct {
	refused *socket.Refusals
	log     *slog.Logger
	callers *rate.Limiter // limits handshakes, which cost about a millisecond each
	replies *rate.Limiter // limits the strangers that receive a reason

	mu       sync.Mutex
	members  map[peer.ID]bool // nil before they are known
	visitors []*visitor       // the oldest first
	room     int
	closed   bool
	severed  map[peer.ID]bool // connections with these are refused
	proven   map[peer.ID]bool // have proven that they belong, on some connection
}

// A visitor is a connected peer that has not yet proven that it belongs.
type visitor struct {
	conn network.Conn
	out  *time.Timer
}

var _ connmgr.ConnectionGater = (*Gate)(nil)

// visit bounds the time of a visitor: enough for a challenge and a refusal.
const visit = 2 * handshake.Timeout

// Rates, in calls per second and address. All workers of a run may be on one
// machine and call at once.
const (
	callRate, callBurst   = 10, 32 // and 4 more per worker
	replyRate, replyBurst = 0.2, 4
)

// NewGate returns the gate of a peer in a run of n. It counts its refusals in refused.
func NewGate(n int, refused *socket.Refusals, log *slog.Logger) *Gate {
	return &Gate{
		refused: refused, log: log, room: 16 + 2*n,
		callers: perAddress(rate.Limit{RPS: callRate, Burst: callBurst + 4*n}),
		replies: perAddress(rate.Limit{RPS: replyRate, Burst: replyBurst}),
	}
}

// perAddress limits each IPv4 address and each IPv6 network, since one machine may have all addresses
// of a network.
func perAddress(l rate.Limit) *rate.Limiter {
	return &rate.Limiter{SubnetRateLimiter: rate.SubnetLimiter{
		IPv4SubnetLimits: []rate.SubnetLimit{{PrefixLength: 32, Limit: l}},
		IPv6SubnetLimits: []rate.SubnetLimit{{PrefixLength: 64, Limit: l}},
		GracePeriod:      time.Minute,
	}}
}

// Know enters the members: from now on all others are strangers.
func (g *Gate) Know(ids []peer.ID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.members = make(map[peer.ID]bool, len(ids))
	for _, id := range ids {
		g.members[id] = true
	}
	g.visitors = slices.DeleteFunc(g.visitors, func(v *visitor) bool {
		return g.members[v.conn.RemotePeer()] && v.out.Stop()
	})
}

// member reports whether id is a member, and whether the members are known.
func (g *Gate) member(id peer.ID) (member, known bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.members[id], g.members != nil
}

// Belongs reports whether id is known to be a member.
func (g *Gate) Belongs(id peer.ID) bool {
	member, _ := g.member(id)
	return member
}

// InterceptPeerDial lets this peer call all others but those from which it is severed.
func (g *Gate) InterceptPeerDial(id peer.ID) bool { return !g.isSevered(id) }

// Sever refuses connections with these peers from now on, and allows them with all others.
func (g *Gate) Sever(ids map[peer.ID]bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.severed = ids
}

func (g *Gate) isSevered(id peer.ID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.severed[id]
}

// InterceptAddrDial lets this peer call any address.
func (g *Gate) InterceptAddrDial(peer.ID, ma.Multiaddr) bool { return true }

// InterceptAccept bounds the handshakes per address.
func (g *Gate) InterceptAccept(c network.ConnMultiaddrs) bool {
	if g.callers.Allow(address(c)) {
		return true
	}
	g.refused.Tell(g.log, "refused a connection: too many from its address", "refused address",
		"address", c.RemoteMultiaddr())
	return false
}

// InterceptSecured refuses strangers, except a few who receive a reason later.
func (g *Gate) InterceptSecured(dir network.Direction, id peer.ID, c network.ConnMultiaddrs) bool {
	if g.isSevered(id) {
		return false
	}
	member, known := g.member(id)
	if dir == network.DirOutbound || member || !known || g.replies.Allow(address(c)) {
		return true
	}
	g.refused.Tell(g.log, "refused a stranger silently", "refused stranger",
		"stranger", id, "address", c.RemoteMultiaddr())
	return false
}

// InterceptUpgraded admits a visitor for a while. If there are too many, it expels the oldest: a peer
// that belongs proves it within milliseconds.
func (g *Gate) InterceptUpgraded(c network.Conn) (bool, control.DisconnectReason) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed || g.severed[c.RemotePeer()] {
		return false, 0
	}
	if c.Stat().Direction == network.DirOutbound || g.members[c.RemotePeer()] {
		return true, 0
	}
	g.visitors = slices.DeleteFunc(g.visitors, func(v *visitor) bool { return v.conn.IsClosed() && v.out.Stop() })
	if len(g.visitors) >= g.room {
		g.visitors[0].out.Reset(0)
		g.visitors = g.visitors[1:]
	}
	v := &visitor{conn: c}
	v.out = time.AfterFunc(visit, func() { g.expel(v) })
	g.visitors = append(g.visitors, v)
	return true, 0
}

// expel closes the connection of a visitor that has proven nothing.
func (g *Gate) expel(v *visitor) {
	g.leave(v.conn)
	if !v.conn.IsClosed() && !g.Belongs(v.conn.RemotePeer()) && !g.hasProven(v.conn.RemotePeer()) {
		g.refused.Tell(g.log, "closed a connection that showed no secret in time", "refused idle",
			"stranger", v.conn.RemotePeer())
		v.conn.Close()
	}
}

// Admitted notes that the peer of c has proven that it belongs.
func (g *Gate) Admitted(c network.Conn) {
	g.leave(c)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.proven == nil {
		g.proven = make(map[peer.ID]bool)
	}
	g.proven[c.RemotePeer()] = true
}

func (g *Gate) hasProven(id peer.ID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.proven[id]
}

func (g *Gate) leave(c network.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.visitors = slices.DeleteFunc(g.visitors, func(v *visitor) bool {
		if v.conn != c {
			return false
		}
		v.out.Stop()
		return true
	})
}

// Close refuses all further connections.
func (g *Gate) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	for _, v := range g.visitors {
		v.out.Stop()
	}
	g.visitors = nil
}

// address returns the IP address of the other end, the zero Addr if it has none.
func address(c network.ConnMultiaddrs) netip.Addr {
	ip, err := manet.ToIP(c.RemoteMultiaddr())
	if err != nil {
		return netip.Addr{}
	}
	a, _ := netip.AddrFromSlice(ip)
	return a.Unmap()
}

// Guard returns a host that serves only the streams of members, for libraries that serve any caller.
func (g *Gate) Guard(h host.Host) host.Host { return &guardedHost{h, g} }

// A guardedHost serves only the streams of members.
type guardedHost struct {
	host.Host
	gate *Gate
}

// SetStreamHandler is SetStreamHandler of a host, for members.
func (h *guardedHost) SetStreamHandler(p protocol.ID, serve network.StreamHandler) {
	h.Host.SetStreamHandler(p, h.guard(serve))
}

// SetStreamHandlerMatch is SetStreamHandlerMatch of a host, for members.
func (h *guardedHost) SetStreamHandlerMatch(p protocol.ID, match func(protocol.ID) bool, serve network.StreamHandler) {
	h.Host.SetStreamHandlerMatch(p, match, h.guard(serve))
}

func (h *guardedHost) guard(serve network.StreamHandler) network.StreamHandler {
	return func(s network.Stream) {
		if !h.gate.Belongs(s.Conn().RemotePeer()) {
			s.Reset()
			return
		}
		serve(s)
	}
}
