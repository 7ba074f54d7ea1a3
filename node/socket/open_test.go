package socket

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/sec"
	"github.com/libp2p/go-libp2p/core/transport"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
)

func unencrypted(c *Config) { c.Security = None }

// A tapped connection keeps what its end has written.
type tapped struct {
	net.Conn
	mu    sync.Mutex
	wrote bytes.Buffer
}

func (c *tapped) Write(p []byte) (int, error) {
	c.mu.Lock()
	c.wrote.Write(p)
	c.mu.Unlock()
	return c.Conn.Write(p)
}

// newOpener returns an opener with a new key.
func newOpener(t testing.TB) *opener {
	t.Helper()
	key, _, err := crypto.GenerateEd25519Key(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	id, err := peer.IDFromPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return &opener{key, id}
}

// greeted lets a client greet a server that is expected to be who.
func greeted(t *testing.T, client, server *opener, who peer.ID) (there, back sec.SecureConn, tap *tapped, err error) {
	t.Helper()
	a, b := net.Pipe()
	tap = &tapped{Conn: a}
	done := make(chan error, 1)
	go func() {
		var err error
		back, err = server.SecureInbound(t.Context(), b, "")
		done <- err
	}()
	there, err = client.SecureOutbound(t.Context(), tap, who)
	return there, back, tap, errors.Join(err, <-done)
}

// The transcript of a connection without encryption: keys are proven, then bytes travel as they are.
func TestOpenConnectionsProveKeysAndHideNothing(t *testing.T) {
	client, server := newOpener(t), newOpener(t)
	there, back, tap, err := greeted(t, client, server, server.self)
	if err != nil {
		t.Fatal(err)
	}
	if there.RemotePeer() != server.self || back.RemotePeer() != client.self {
		t.Errorf("the ends know each other as %v and %v", there.RemotePeer(), back.RemotePeer())
	}
	said := []byte("all who are on the way can read this")
	go there.Write(said)
	if _, err := io.ReadFull(back, make([]byte, len(said))); err != nil {
		t.Fatal(err)
	}
	tap.mu.Lock()
	defer tap.mu.Unlock()
	const key, signature = 36, 64 // Ed25519
	if want := 2 + nonceLen + key + 2 + signature + len(said); tap.wrote.Len() != want {
		t.Errorf("%d bytes were sent, want %d", tap.wrote.Len(), want)
	}
	if !bytes.HasSuffix(tap.wrote.Bytes(), said) {
		t.Error("the bytes do not travel as they are")
	}
}

func TestAnotherPeerIsNotAccepted(t *testing.T) {
	client, server := newOpener(t), newOpener(t)
	_, _, _, err := greeted(t, client, server, newOpener(t).self)
	if _, ok := errors.AsType[sec.ErrPeerIDMismatch](err); !ok {
		t.Errorf("want a mismatch of ids, got %v", err)
	}
}

// A thief has the public key of a peer and what that peer has sent before, but not its private key.
func TestAStolenGreetingProvesNothing(t *testing.T) {
	owner, server := newOpener(t), newOpener(t)
	_, _, tap, err := greeted(t, owner, server, server.self)
	if err != nil {
		t.Fatal(err)
	}
	a, b := net.Pipe()
	go func() {
		a.Write(tap.wrote.Bytes())
		io.Copy(io.Discard, a)
	}()
	go io.Copy(io.Discard, a)
	if c, err := server.SecureInbound(t.Context(), b, ""); !errors.Is(err, errTampered) {
		t.Errorf("a replayed greeting: connection %v, error %v", c, err)
	}
}

func TestUnencryptedIsNeverNegotiated(t *testing.T) {
	for _, security := range []string{TLS, Noise} {
		open := listening(t, unencrypted)
		closed := listening(t, func(c *Config) { c.Security = security })
		for _, pair := range [][2]*Host{{open, closed}, {closed, open}} {
			err := pair[0].Connect(t.Context(), peer.AddrInfo{ID: pair[1].ID(), Addrs: pair[1].Addrs()})
			if err == nil || pair[0].Network().Connectedness(pair[1].ID()) == network.Connected {
				t.Fatalf("a host with %s and one without encryption have connected", security)
			}
			if why := Cause(err); !strings.Contains(why, "node.security") {
				t.Errorf("the reason does not name the key: %s", why)
			}
		}
	}
}

func TestOnlyTrustedAddressesGoWithoutEncryption(t *testing.T) {
	c := Config{Security: None, Trusted: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}
	for at, want := range map[string]bool{
		"127.0.0.1:1": true, "127.9.9.9:1": true, "[::1]:1": true, "[::ffff:127.0.0.1]:1": true,
		"10.1.2.3:1": true, "[::ffff:10.1.2.3]:1": true, "10.2.0.1:1": false, "192.0.2.1:1": false,
		"[2001:db8::1]:1": false, "[fe80::1%eth0]:1": false,
	} {
		err := c.trusts(net.TCPAddrFromAddrPort(netip.MustParseAddrPort(at)))
		if (err == nil) != want {
			t.Errorf("%s: %v, want trusted %v", at, err, want)
		}
		if err != nil && !strings.Contains(err.Error(), "node.trusted") {
			t.Errorf("%s: the error names no fix: %v", at, err)
		}
	}
	if err := c.trusts(&net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}); err == nil {
		t.Error("an address that is not of TCP is trusted")
	}
	c.Security = TLS
	if err := c.trusts(&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}); err != nil {
		t.Errorf("with encryption: %v", err)
	}
}

// A listenerOf hands out connections that a test has made.
type listenerOf struct {
	transport.GatedMaListener
	conns []manet.Conn
}

func (l *listenerOf) Accept() (manet.Conn, network.ConnManagementScope, error) {
	if len(l.conns) == 0 {
		return nil, nil, net.ErrClosed
	}
	c := l.conns[0]
	l.conns = l.conns[1:]
	return c, &network.NullScope{}, nil
}

// A caller is a connection that knows whether it was read or closed.
type caller struct {
	manet.Conn
	from         string
	read, closed bool
}

func (c *caller) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(c.from))
}
func (c *caller) RemoteMultiaddr() ma.Multiaddr { return ma.StringCast("/ip4/127.0.0.1/tcp/1") }
func (c *caller) Read(p []byte) (int, error)    { c.read = true; return 0, io.EOF }
func (c *caller) Close() error                  { c.closed = true; return nil }

// A caller from elsewhere is closed before a byte of it is read, and the next one is served.
func TestUntrustedCallersAreClosedUnread(t *testing.T) {
	bytes, config := newTraffic(nil), Config{Security: None}
	bytes.trusts = config.trusts
	stranger, neighbour := &caller{from: "192.0.2.1:7"}, &caller{from: "127.0.0.1:7"}
	l := &countingListener{
		GatedMaListener: &listenerOf{conns: []manet.Conn{stranger, neighbour}},
		traffic:         bytes, open: make(map[string]*countedConn),
	}
	got, _, err := l.Accept()
	if err != nil || countedBelow(got).Conn != neighbour {
		t.Fatalf("accepted %v, %v", got, err)
	}
	if stranger.read || !stranger.closed || neighbour.closed {
		t.Errorf("the stranger: read %v, closed %v; the neighbour: closed %v", stranger.read, stranger.closed,
			neighbour.closed)
	}
}

// A try that ends with its time says what may have kept the answer.
func TestTheCauseOfASilence(t *testing.T) {
	late := fmt.Errorf("%w", context.DeadlineExceeded)
	reset := fmt.Errorf("failed to negotiate protocol: stream reset: %s", syscall.ETIMEDOUT.Error())
	tls := fmt.Errorf("failed to negotiate security protocol: %w", os.ErrDeadlineExceeded)
	at := ma.StringCast("/ip4/10.0.0.7/tcp/4001")
	dial := func(cause error) error {
		failed := []swarm.TransportError{{Address: at, Cause: cause}}
		return &swarm.DialError{Cause: swarm.ErrAllDialsFailed, DialErrors: failed}
	}
	for want, err := range map[string][]error{
		"MTU": {fmt.Errorf("failed to negotiate protocol: %w", late),
			fmt.Errorf("identify failed to complete: %w", late), reset, dial(tls)},
		"a firewall":    {fmt.Errorf("failed to dial: %w", late)},
		"node.security": {dial(errors.New("failed to negotiate security protocol: protocols not supported"))},
	} {
		for _, err := range err {
			if got := Cause(err); !strings.Contains(got, want) {
				t.Errorf("%v: %q, want %q", err, got, want)
			}
		}
	}
	if got := Cause(errors.New("connection refused")); got != "connection refused" {
		t.Errorf("%q: want nothing more", got)
	}
}
