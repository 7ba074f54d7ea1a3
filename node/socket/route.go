package socket

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	ma "github.com/multiformats/go-multiaddr"
	"github.com/multiformats/go-multistream"
)

// A Route is a way to a peer of another machine: one of the IP addresses of that machine. The operating system chooses
// the interface of this machine.
type Route struct {
	IP    netip.Addr
	Addrs []ma.Multiaddr // that have this IP address
}

// mostRoutes bounds the routes to one peer: each may become a connection for a while.
const mostRoutes = 6

// Routes returns the routes to the peer that has these addresses. Addresses of this machine are no routes: they lead to
// a peer beside this one, or belong to a bridge that both machines have, such as docker0.
func Routes(addrs []ma.Multiaddr) []Route {
	own, _ := net.InterfaceAddrs() // without them, a route leads nowhere, which its dial shows
	return routes(addrs, own)
}

// routes is Routes for a machine with its own addresses. Routes into its own networks come first.
func routes(addrs []ma.Multiaddr, own []net.Addr) []Route {
	nets := prefixes(own)
	var found []Route
	for _, a := range addrs {
		ip, ok := AddrOf(a)
		here := func(p netip.Prefix) bool { return p.Addr() == ip }
		if !ok || !Far(ip) || slices.ContainsFunc(nets, here) {
			continue
		}
		i := slices.IndexFunc(found, func(r Route) bool { return r.IP == ip })
		if i < 0 {
			i, found = len(found), append(found, Route{IP: ip})
		}
		found[i].Addrs = append(found[i].Addrs, a)
	}
	distance := func(r Route) int {
		if slices.ContainsFunc(nets, func(p netip.Prefix) bool { return p.Contains(r.IP) }) {
			return 0
		}
		return 1
	}
	slices.SortFunc(found, func(a, b Route) int { return cmp.Or(distance(a)-distance(b), a.IP.Compare(b.IP)) })
	return found[:min(len(found), mostRoutes)]
}

// prefixes returns the addresses of interfaces with the lengths of their networks.
func prefixes(own []net.Addr) []netip.Prefix {
	var out []netip.Prefix
	for _, a := range own {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			out = append(out, p)
		}
	}
	return out
}

// Named reports whether a multiaddr has the name of a machine instead of an IP address.
func Named(a ma.Multiaddr) bool {
	_, ok := AddrOf(a)
	return !ok
}

// Remote returns the IP address of the other end of a connection; the zero Addr: it has none.
func Remote(c network.Conn) netip.Addr {
	ip, _ := AddrOf(c.RemoteMultiaddr())
	return ip
}

// InterfaceTo returns the name of the interface over which this machine reaches an address, "" if it is unknown.
func InterfaceTo(to netip.Addr) string {
	c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(to, 9))) // sends nothing
	if err != nil {
		return ""
	}
	defer c.Close()
	from := c.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap().WithZone("")
	all, _ := net.Interfaces()
	for _, i := range all {
		own, _ := i.Addrs()
		if slices.ContainsFunc(prefixes(own), func(p netip.Prefix) bool { return p.Addr() == from }) {
			return i.Name
		}
	}
	return ""
}

// Dial connects to a peer over a route, also if it is connected already. The addresses of a route are those of one
// machine, so that all but the right port refuse at once.
func (h *Host) Dial(ctx context.Context, id peer.ID, r Route) (network.Conn, error) {
	sw := h.Network().(*swarm.Swarm)
	err := errors.New("no address")
	for _, a := range r.Addrs {
		by := sw.TransportForDialing(a)
		if by == nil {
			continue
		}
		c, failed := by.Dial(ctx, a, id)
		if failed != nil {
			err = failed
			continue
		}
		return h.bytes.dialled.enter(ctx, c)
	}
	return nil, err
}

// OpenOn opens a stream of a connection. Unlike Open it waits until the other end has chosen one of the protocols.
func (h *Host) OpenOn(ctx context.Context, c network.Conn, among ...protocol.ID) (network.Stream, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	s, err := c.NewStream(ctx)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { s.Reset() })
	defer stop()
	p, err := multistream.SelectOneOf(among, s)
	if err == nil {
		err = s.SetProtocol(p)
	}
	if err == nil && !stop() {
		err = context.Cause(ctx)
	}
	if err != nil {
		s.ResetWithError(network.StreamProtocolNegotiationFailed)
		return nil, err
	}
	return s, nil
}

// NotServed reports whether OpenOn failed because the other end does not serve the protocols, or not yet.
func NotServed(err error) bool {
	_, no := errors.AsType[multistream.ErrNotSupported[protocol.ID]](err)
	return no
}

// own is how the protocols of this program begin.
const own = "/gossiptrainer/"

// Idle reports whether a connection carries no stream of this program, apart from those of a protocol. Libraries open
// theirs again elsewhere.
func Idle(c network.Conn, but protocol.ID) bool {
	return !slices.ContainsFunc(c.GetStreams(), func(s network.Stream) bool {
		p := s.Protocol()
		return p != but && strings.HasPrefix(string(p), own)
	})
}
