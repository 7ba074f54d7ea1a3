package socket

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"
	ma "github.com/multiformats/go-multiaddr"
)

func multiaddrs(t *testing.T, texts ...string) (out []ma.Multiaddr) {
	t.Helper()
	for _, text := range texts {
		a, err := ma.NewMultiaddr(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, a)
	}
	return out
}

// This machine has docker0 as well. Its own networks come first, so that a bound on routes leaves out far ones.
func TestRoutesLeadToOtherMachines(t *testing.T) {
	var own []net.Addr
	for _, text := range []string{"127.0.0.1/8", "10.2.0.1/24", "172.17.0.1/16", "fe80::1/64"} {
		p := netip.MustParsePrefix(text)
		own = append(own, &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())})
	}
	for _, test := range []struct {
		name        string
		addrs, want []string
	}{
		{"a peer beside this one", []string{"/ip4/127.0.0.1/tcp/1", "/ip4/10.2.0.1/tcp/1", "/ip4/172.17.0.1/tcp/1"}, nil},
		{"two networks and a bridge that both machines have",
			[]string{"/ip4/10.1.0.2/tcp/1", "/ip4/10.2.0.2/tcp/1", "/ip4/172.17.0.1/tcp/1"}, []string{"10.2.0.2", "10.1.0.2"}},
		{"ports of two processes", []string{"/ip4/10.2.0.2/tcp/1", "/ip4/10.2.0.2/tcp/2"}, []string{"10.2.0.2"}},
		{"QUIC and IPv6", []string{"/ip6/fd00::2/udp/1/quic-v1", "/ip4/10.2.0.2/udp/1/quic-v1"},
			[]string{"10.2.0.2", "fd00::2"}},
		{"a link-local address, which libp2p does not dial", []string{"/ip6zone/eth0/ip6/fe80::2/tcp/1"}, nil},
		{"nothing to dial", []string{"/ip4/0.0.0.0/tcp/1", "/dns4/two/tcp/1"}, nil},
		{"very many", []string{"/ip4/8.0.0.1/tcp/1", "/ip4/8.0.0.2/tcp/1", "/ip4/8.0.0.3/tcp/1", "/ip4/8.0.0.4/tcp/1",
			"/ip4/8.0.0.5/tcp/1", "/ip4/8.0.0.6/tcp/1", "/ip4/10.2.0.9/tcp/1"},
			[]string{"10.2.0.9", "8.0.0.1", "8.0.0.2", "8.0.0.3", "8.0.0.4", "8.0.0.5"}},
	} {
		var got []string
		addrs := multiaddrs(t, test.addrs...)
		for _, r := range routes(addrs, own) {
			got = append(got, r.IP.String())
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: routes %v, want %v", test.name, got, test.want)
		}
	}
}

// twoHosts returns two hosts on loopback, and a route from the first to the second.
func twoHosts(t *testing.T, transport string) (a, b *Host, to Route) {
	t.Helper()
	listen := map[string]string{TCP: "/ip4/127.0.0.1/tcp/0", QUIC: "/ip4/127.0.0.1/udp/0/quic-v1"}[transport]
	var hosts [2]*Host
	for i := range hosts {
		h, err := New(Config{Key: newKey(t), Listen: []string{listen}, Transport: transport, Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { h.Close() })
		hosts[i] = h
	}
	a, b = hosts[0], hosts[1]
	return a, b, Route{netip.MustParseAddr("127.0.0.1"), b.Addrs()}
}

// answering makes a host answer probes, and returns what the other end has told.
func answering(h *Host) <-chan Speed {
	told := make(chan Speed, 1)
	h.SetStreamHandler(ProbeProtocol, func(s network.Stream) {
		if speed, err := h.AnswerProbe(s); err == nil {
			told <- speed
		}
	})
	return told
}

// A second connection is one of libp2p at both ends, and can be measured.
func TestAnotherConnectionIsDialledAndMeasured(t *testing.T) {
	for _, transport := range []string{TCP, QUIC} {
		a, b, to := twoHosts(t, transport)
		told := answering(b)
		a.Peerstore().AddAddrs(b.ID(), b.Addrs(), peerstore.PermanentAddrTTL)
		if err := a.Reach(t.Context(), b.ID()); err != nil {
			t.Fatal(err)
		}
		c, err := a.Dial(t.Context(), b.ID(), to)
		if err != nil {
			t.Fatal(transport, err)
		}
		if !Dialled(c) || !slices.Contains(a.Network().ConnsToPeer(b.ID()), c) || len(a.Network().ConnsToPeer(b.ID())) != 2 {
			t.Errorf("%s: connections %v, want two with %v", transport, a.Network().ConnsToPeer(b.ID()), c)
		}
		speed, n, err := a.Probe(t.Context(), c)
		if err != nil || speed.Rate <= 0 || speed.RTT <= 0 || n < 8<<10 || n > 1<<20 {
			t.Errorf("%s: measured %+v with %d bytes, error %v", transport, speed, n, err)
		}
		if got := <-told; got.RTT != speed.RTT || got.Rate != float64(int64(speed.Rate)) {
			t.Errorf("%s: the other end was told %+v, want %+v", transport, got, speed)
		}
		if len(b.Network().ConnsToPeer(a.ID())) != 2 {
			t.Errorf("%s: the other end has connections %v, want two", transport, b.Network().ConnsToPeer(a.ID()))
		}
		// Streams that the other end opens over the new connection are served.
		greeted := make(chan string, 1)
		a.SetStreamHandler("/gossiptrainer/test", func(s network.Stream) {
			text, _ := io.ReadAll(s)
			greeted <- string(text)
		})
		for _, back := range b.Network().ConnsToPeer(a.ID()) {
			s, err := b.OpenOn(t.Context(), back, "/gossiptrainer/other", "/gossiptrainer/test")
			if err != nil {
				t.Fatal(transport, err)
			}
			if Idle(back, ProbeProtocol) || !Idle(back, "/gossiptrainer/test") {
				t.Errorf("%s: a connection with a stream rests", transport)
			}
			s.Write([]byte("hello"))
			s.Close()
			if got := <-greeted; got != "hello" {
				t.Errorf("%s: %q arrived", transport, got)
			}
		}
	}
}

// An address may lead to another machine than its owner: those of bridges and home networks are often alike.
func TestARouteToAnotherPeerIsRefused(t *testing.T) {
	a, b, _ := twoHosts(t, TCP)
	_, _, elsewhere := twoHosts(t, TCP)
	c, err := a.Dial(t.Context(), b.ID(), elsewhere)
	if err == nil {
		t.Fatalf("connected with %v", c.RemotePeer())
	}
	if n := len(a.Network().ConnsToPeer(b.ID())); n != 0 {
		t.Errorf("%d connections are left", n)
	}
	if _, err := a.Dial(t.Context(), b.ID(), Route{}); err == nil {
		t.Error("a route without an address leads somewhere")
	}
}

// A gate that refuses the connection ends the dial.
func TestADialEndsWithItsTime(t *testing.T) {
	a, b, to := twoHosts(t, TCP)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.Dial(ctx, b.ID(), to); err == nil {
		t.Error("connected after the end of the time")
	}
}

// A peer that does not serve a protocol says so, before anything is measured.
func TestAProbeOfAPeerThatIsNotReady(t *testing.T) {
	a, b, to := twoHosts(t, TCP)
	c, err := a.Dial(t.Context(), b.ID(), to)
	if err != nil {
		t.Fatal(err)
	}
	if speed, _, err := a.Probe(t.Context(), c); err == nil || !NotServed(err) {
		t.Errorf("measured %+v, error %v, want that the protocol is not served", speed, err)
	}
}

func TestTimeOfAMessage(t *testing.T) {
	for _, test := range []struct {
		speed Speed
		bytes int
		want  time.Duration
	}{
		{Speed{time.Millisecond, 8e6}, 1000, 2 * time.Millisecond},
		{Speed{time.Millisecond, 8e6}, 0, time.Millisecond},
		{Speed{}, 1000, 1<<63 - 1},
		{Speed{}, 0, 1<<63 - 1},
	} {
		if got := test.speed.Time(test.bytes); got != test.want {
			t.Errorf("%+v: %d bytes take %v, want %v", test.speed, test.bytes, got, test.want)
		}
	}
}

// Slow networks are dialled later, once two are known.
func TestSlowNetworksAreDialledLater(t *testing.T) {
	var n networks
	addrs := multiaddrs(t, "/ip4/127.0.0.1/tcp/1")
	lo := InterfaceTo(netip.MustParseAddr("127.0.0.1"))
	if lo == "" {
		t.Skip("the interface of loopback is unknown")
	}
	n.learn(lo, Speed{time.Millisecond, 1e6})
	if at := n.rank(addrs); len(at) != 1 || at[0].Delay != 0 {
		t.Errorf("one network: %v, want no delay", at)
	}
	n.learn("fast", Speed{time.Millisecond, 1e8})
	if at := n.rank(addrs); at[0].Delay != late {
		t.Errorf("a slow network: %v, want a delay of %v", at, late)
	}
	n.learn(lo, Speed{time.Millisecond, 5e7})
	if at := n.rank(addrs); at[0].Delay != 0 {
		t.Errorf("a network that is fast enough: %v, want no delay", at)
	}
}

// A cannedStream is a stream whose other end has sent all it has to send.
type cannedStream struct {
	network.Stream
	in      io.Reader
	written int
}

func (s *cannedStream) Read(b []byte) (int, error)  { return s.in.Read(b) }
func (s *cannedStream) Write(b []byte) (int, error) { s.written += len(b); return len(b), nil }
func (s *cannedStream) SetDeadline(time.Time) error { return nil }
func (s *cannedStream) Conn() network.Conn          { return cannedConn{} }
func (s *cannedStream) Reset() error                { return nil }
func (s *cannedStream) Close() error                { return nil }

type cannedConn struct{ network.Conn }

func (cannedConn) RemotePeer() peer.ID { return "other" }

// The answers to a probe are bounded, whatever the other end sends.
func FuzzProbe(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0})
	f.Add(append([]byte{255, 255, 255, 255, 0, 0, 0, 0}, bytes.Repeat([]byte{9, 0, 0, 0, 0, 0, 0, 0}, 2)...))
	f.Add([]byte{0, 0, 0, 0, 0, 0, 2, 0})
	f.Fuzz(func(t *testing.T, text []byte) {
		s := &cannedStream{in: bytes.NewReader(text)}
		h := &Host{bytes: newTraffic(nil)}
		speed, err := h.AnswerProbe(s)
		if most := (pings + 2*len(bursts()) + 1) * (lastBurst + 1); s.written > most {
			t.Errorf("%d bytes were sent, want at most %d", s.written, most)
		}
		if err == nil && (speed.Rate <= 0 || speed.RTT < 0) {
			t.Errorf("told %+v", speed)
		}
	})
}

func newKey(t *testing.T) crypto.PrivKey {
	t.Helper()
	key, _, err := crypto.GenerateEd25519Key(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}
