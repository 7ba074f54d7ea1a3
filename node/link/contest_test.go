package link

import (
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peerstore"
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"

	"gossiptrainer/gossip"
	"gossiptrainer/node/socket"
	"gossiptrainer/topology"
)

// A detour is a slow network between two hosts: an address on loopback that passes bytes on, each part some time later.
type detour struct {
	listener net.Listener
	to       string
	wg       sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
}

// newDetour returns an address that leads to another one. The test is skipped where loopback has one address only.
func newDetour(t *testing.T, at, to string) *detour {
	t.Helper()
	l, err := net.Listen("tcp", at)
	if err != nil {
		t.Skip(err)
	}
	d := &detour{listener: l, to: to}
	d.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			d.wg.Go(func() { d.pass(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		d.mu.Lock()
		for _, c := range d.conns {
			c.Close()
		}
		d.mu.Unlock()
		d.wg.Wait()
	})
	return d
}

// lag is how much later a part of the bytes comes.
const lag = 20 * time.Millisecond

func (d *detour) pass(c net.Conn) {
	defer c.Close()
	there, err := net.Dial("tcp", d.to)
	if err != nil {
		return
	}
	defer there.Close()
	d.mu.Lock()
	d.conns = append(d.conns, c, there)
	d.mu.Unlock()
	var both sync.WaitGroup
	for _, ends := range [][2]net.Conn{{c, there}, {there, c}} {
		both.Go(func() {
			defer ends[0].Close()
			defer ends[1].Close()
			part := make([]byte, 32<<10)
			for {
				n, err := ends[0].Read(part)
				if err != nil {
					return
				}
				<-time.After(lag)
				if _, err := ends[1].Write(part[:n]); err != nil {
					return
				}
			}
		})
	}
	both.Wait()
}

// route returns a route to a TCP address.
func route(t *testing.T, to string) socket.Route {
	t.Helper()
	a, err := net.ResolveTCPAddr("tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	m, err := manet.FromNetAddr(a)
	if err != nil {
		t.Fatal(err)
	}
	return socket.Route{IP: a.AddrPort().Addr().Unmap(), Addrs: []ma.Multiaddr{m}}
}

// A crossing is a pair with a slow and a fast way. The host of the end that dials knows the slow one.
type crossing struct {
	*pair
	dials      int // rank of the end that dials
	slow, fast socket.Route
}

// newCrossing makes the hosts of two workers; ways returns the routes of the end that dials.
func newCrossing(t *testing.T, ways func(c *crossing) []socket.Route) *crossing {
	t.Helper()
	c := &crossing{pair: idlePair(t, nil)}
	if c.configs[1].Host.ID() < c.configs[0].Host.ID() {
		c.dials = 1
	}
	caller, called := c.configs[c.dials].Host, c.configs[1-c.dials].Host
	direct, err := manet.ToNetAddr(called.Addrs()[0])
	if err != nil {
		t.Fatal(err)
	}
	c.fast = route(t, direct.String())
	c.slow = route(t, newDetour(t, "127.0.0.3:0", direct.String()).listener.Addr().String())
	for _, h := range []*socket.Host{caller, called} {
		for _, id := range h.Peerstore().Peers() {
			if id != h.ID() {
				h.Peerstore().ClearAddrs(id)
			}
		}
	}
	caller.Peerstore().AddAddrs(called.ID(), c.slow.Addrs, peerstore.PermanentAddrTTL)
	c.configs[c.dials].Ways = func(topology.Rank) []socket.Route { return ways(c) }
	c.configs[1-c.dials].Ways = func(topology.Rank) []socket.Route { return nil }
	return c
}

func (c *crossing) begin(t *testing.T) {
	t.Helper()
	for rank := range c.configs {
		c.start(t, rank)
	}
}

// over returns the address over which the link of the end that dials goes.
func (c *crossing) over() netip.Addr {
	return socket.Remote(c.links[c.dials].edge(topology.Rank(1 - c.dials)).current().stream.Conn())
}

// alone waits until the hosts have one connection, that of the link.
func (c *crossing) alone(t *testing.T) {
	t.Helper()
	h, closed := c.configs[c.dials].Host, make(chan struct{}, 8)
	watch := &network.NotifyBundle{DisconnectedF: func(network.Network, network.Conn) { closed <- struct{}{} }}
	h.Network().Notify(watch)
	defer h.Network().StopNotify(watch)
	for len(h.Network().ConnsToPeer(c.configs[1-c.dials].Host.ID())) > 1 {
		<-closed
	}
}

// The hosts are connected over the slow network when the edge opens.
func TestAnEdgeOpensOverTheFastestWay(t *testing.T) {
	c := newCrossing(t, func(c *crossing) []socket.Route { return []socket.Route{c.slow, c.fast} })
	if err := c.configs[c.dials].Host.Reach(t.Context(), c.configs[1-c.dials].Host.ID()); err != nil {
		t.Fatal(err)
	}
	c.begin(t)
	c.wants(t, 0, Up)
	c.wants(t, 1, Up)
	if got := c.over(); got != c.fast.IP {
		t.Errorf("the link goes over %v, want %v", got, c.fast.IP)
	}
	c.alone(t)
	sent := gossip.Frame{From: 0, To: 1, Round: 3, Payload: []byte("parameters")}
	c.links[0].Send([]gossip.Frame{sent})
	if got := c.wants(t, 1, FrameIn).Frame; string(got.Payload) != string(sent.Payload) {
		t.Errorf("%q arrived", got.Payload)
	}
	p := c.links[c.dials].edge(topology.Rank(1 - c.dials)).ways.path(c.fast.IP)
	if len(p.Others) != 1 || p.Others[0].Address != c.slow.IP.String() || p.Others[0].Rate <= 0 ||
		p.Others[0].RTT < 2*lag || p.Measuring == 0 {
		t.Errorf("path %+v, want both networks", p)
	}
}

// A link moves to a faster network that begins to answer, and no frame is lost for good: both ends meet again.
func TestALinkMovesToAFasterWay(t *testing.T) {
	var mu sync.Mutex
	plugged := false
	c := newCrossing(t, func(c *crossing) []socket.Route {
		mu.Lock()
		defer mu.Unlock()
		if plugged {
			return []socket.Route{c.slow, c.fast}
		}
		return []socket.Route{c.slow, route(t, "127.0.0.4:1")}
	})
	c.begin(t)
	c.wants(t, 0, Up)
	c.wants(t, 1, Up)
	if got := c.over(); got != c.slow.IP {
		t.Errorf("the link goes over %v, want %v", got, c.slow.IP)
	}
	mu.Lock()
	plugged = true
	mu.Unlock()
	c.wants(t, 0, Down, Up)
	c.wants(t, 1, Down, Up)
	if got := c.over(); got != c.fast.IP {
		t.Errorf("the link goes over %v, want %v", got, c.fast.IP)
	}
	c.alone(t)
	if s := c.links[c.dials].Status(); s[0].Lost != 0 {
		t.Errorf("%d links are lost, want none: it has moved", s[0].Lost)
	}
}

// A neighbour that is lost over the fast network is met over the other one.
func TestALinkFallsBackToAnotherWay(t *testing.T) {
	var mu sync.Mutex
	cut := false
	c := newCrossing(t, func(c *crossing) []socket.Route {
		mu.Lock()
		defer mu.Unlock()
		if cut {
			return []socket.Route{c.slow, route(t, "127.0.0.4:1")}
		}
		return []socket.Route{c.slow, c.fast}
	})
	c.begin(t)
	c.wants(t, 0, Up)
	c.wants(t, 1, Up)
	mu.Lock()
	cut = true
	mu.Unlock()
	c.links[c.dials].edge(topology.Rank(1 - c.dials)).current().stream.Conn().Close()
	c.wants(t, 0, Down, Up)
	c.wants(t, 1, Down, Up)
	if got := c.over(); got != c.slow.IP {
		t.Errorf("the link goes over %v, want %v", got, c.slow.IP)
	}
}

// An edge with one way opens no second connection, and measures nothing.
func TestAnEdgeWithOneWayMeasuresNothing(t *testing.T) {
	c := newCrossing(t, func(c *crossing) []socket.Route { return []socket.Route{c.slow} })
	c.begin(t)
	c.wants(t, 0, Up)
	c.wants(t, 1, Up)
	e := c.links[c.dials].edge(topology.Rank(1 - c.dials))
	if p := e.ways.path(c.slow.IP); p.Measuring != 0 || len(e.ways.known) != 0 {
		t.Errorf("path %+v, want nothing measured", p)
	}
	if n := len(c.configs[c.dials].Host.Network().ConnsToPeer(c.configs[1-c.dials].Host.ID())); n != 1 {
		t.Errorf("%d connections, want one", n)
	}
}
