package socket

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/transport"
	"github.com/libp2p/go-libp2p/p2p/transport/quicreuse"
	"github.com/libp2p/go-libp2p/p2p/transport/tcp"
	manet "github.com/multiformats/go-multiaddr/net"
	quicgo "github.com/quic-go/quic-go"
)

// Wire counts bytes on the wire: encrypted, with handshakes and telemetry, without headers of TCP
// and IP.
type Wire struct {
	Sent, Received int64
}

// A tally is a Wire that goroutines may update and read at once.
type tally struct{ out, in atomic.Int64 }

func (t *tally) read() Wire { return Wire{Sent: t.out.Load(), Received: t.in.Load()} }

// traffic counts the bytes that one host sends and receives. Over TCP it counts by peer; over QUIC, whose
// connections share one socket, it counts UDP payloads in total.
type traffic struct {
	total    tally
	shared   *quicreuse.ConnManager // nil over TCP
	shaper   *shaper                // above the counting; nil: without limits
	networks networks               // that were measured
	dialled  entrance               // for connections that are dialled below libp2p
	keeps    func(peer.ID) bool     // peers whose count outlives their connections; nil: all
	trusts   func(net.Addr) error   // refuses connections that may not be without encryption
	mu       sync.Mutex
	peers    map[peer.ID]*tally
}

func newTraffic(s *shaper) *traffic {
	return &traffic{shaper: s, dialled: make(entrance), peers: make(map[peer.ID]*tally)}
}

func (t *traffic) peer(id peer.ID) *tally {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.peers[id] == nil {
		t.peers[id] = new(tally)
	}
	return t.peers[id]
}

// forget drops the count of a stranger when its connection is over: strangers may come under any
// number of ids.
func (t *traffic) forget(id peer.ID) {
	if t.keeps == nil || t.keeps(id) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.peers, id)
}

// tcp makes a TCP transport that counts dialled and accepted connections below the encryption.
func (t *traffic) tcp(u transport.Upgrader, rc network.ResourceManager) (*tcp.TcpTransport, error) {
	// Without port reuse two hosts that dial each other at once never meet in
	// one half-open connection, which some handshakes do not survive.
	return tcp.NewTCPTransport(&countingUpgrader{Upgrader: u, traffic: t}, rc, nil, tcp.DisableReuseport())
}

// quic makes the connection manager of QUIC; close ends it.
func (t *traffic) quic(
	reset quicgo.StatelessResetKey, token quicgo.TokenGeneratorKey, opts ...quicreuse.Option,
) (*quicreuse.ConnManager, error) {
	m, err := quicreuse.NewConnManager(reset, token, opts...)
	if err == nil {
		t.shared = m
	}
	return m, err
}

// close ends the connections that the host does not end itself. The host must be closed before.
func (t *traffic) close() error {
	t.shaper.wait()
	if t.shared == nil {
		return nil
	}
	return t.shared.Close()
}

// udp opens a counted socket for QUIC. It hides the methods with which quic-go passes several packets
// per system call, because those calls would go uncounted.
func (t *traffic) udp(network string, at *net.UDPAddr) (net.PacketConn, error) {
	c, err := net.ListenUDP(network, at)
	if err != nil {
		return nil, err
	}
	return &countedPackets{PacketConn: c, socket: c, total: &t.total}, nil
}

type countingUpgrader struct {
	transport.Upgrader
	traffic *traffic
}

// Upgrade counts a connection that this host dialled. Without encryption the address must be trusted.
func (u *countingUpgrader) Upgrade(
	ctx context.Context, t transport.Transport, raw manet.Conn, dir network.Direction, id peer.ID,
	scope network.ConnManagementScope,
) (transport.CapableConn, error) {
	if err := u.traffic.trusts(raw.RemoteAddr()); err != nil {
		raw.Close()
		return nil, err
	}
	c := u.traffic.count(raw)
	up, err := u.Upgrader.Upgrade(ctx, t, u.traffic.shaper.shape(c, c.id), dir, id, scope)
	if err != nil {
		return nil, err
	}
	c.belongsTo(up.RemotePeer())
	return &upgradedConn{up, c}, nil
}

// An upgradedConn knows the connection below the encryption.
type upgradedConn struct {
	transport.CapableConn
	below *countedConn
}

// As finds the connection below for network.Conn.
func (c *upgradedConn) As(target any) bool {
	if below, ok := target.(**countedConn); ok {
		*below = c.below
		return true
	}
	return c.CapableConn.As(target)
}

// Stat returns the statistics of the transport.
func (c *upgradedConn) Stat() network.ConnStats {
	if s, ok := c.CapableConn.(network.ConnStat); ok {
		return s.Stat()
	}
	return network.ConnStats{}
}

// countedBelow returns the counted connection that c is or wraps.
func countedBelow(c net.Conn) *countedConn {
	if shaped, ok := c.(*shapedConn); ok {
		c = shaped.Conn
	}
	counted, _ := c.(*countedConn)
	return counted
}

// UpgradeGatedMaListener counts the connections that this host accepts. The handshake hides which
// accepted connection belongs to which upgraded one, so the returned listener matches them by
// addresses.
func (u *countingUpgrader) UpgradeGatedMaListener(
	t transport.Transport, raw transport.GatedMaListener,
) transport.Listener {
	in := &countingListener{GatedMaListener: raw, traffic: u.traffic, open: make(map[string]*countedConn)}
	return u.traffic.dialled.open(&upgradedListener{Listener: u.Upgrader.UpgradeGatedMaListener(t, in), raw: in})
}

type countingListener struct {
	transport.GatedMaListener
	traffic *traffic
	mu      sync.Mutex
	open    map[string]*countedConn // connections by remote address, until their handshake is over
}

func (l *countingListener) Accept() (manet.Conn, network.ConnManagementScope, error) {
	raw, scope, err := l.GatedMaListener.Accept()
	for err == nil && l.traffic.trusts(raw.RemoteAddr()) != nil { // not one byte is read
		raw.Close()
		scope.Done()
		raw, scope, err = l.GatedMaListener.Accept()
	}
	if err != nil {
		return raw, scope, err
	}
	c := l.traffic.count(raw)
	key := c.RemoteMultiaddr().String()
	c.closed = func() { l.take(key, c) }
	l.mu.Lock()
	l.open[key] = c
	l.mu.Unlock()
	return l.traffic.shaper.shape(c, c.id), scope, nil
}

// take removes and returns the connection of key. If want is not nil, it must be that connection.
func (l *countingListener) take(key string, want *countedConn) *countedConn {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.open[key]
	if c == nil || want != nil && c != want {
		return nil
	}
	delete(l.open, key)
	return c
}

type upgradedListener struct {
	transport.Listener
	raw *countingListener
}

func (l *upgradedListener) Accept() (transport.CapableConn, error) {
	up, err := l.Listener.Accept()
	if err != nil {
		return up, err
	}
	c := l.raw.take(up.RemoteMultiaddr().String(), nil)
	if c == nil {
		return up, nil // closed meanwhile
	}
	c.belongsTo(up.RemotePeer())
	return &upgradedConn{up, c}, nil
}

// A countedConn keeps its own count until its peer is known, then moves the bytes to the count of that
// peer. The lock prevents that a byte is counted in between.
type countedConn struct {
	manet.Conn
	traffic *traffic
	closed  func() // may be nil
	session []byte // binds proofs to the encryption, see Session; set by the handshake
	began   time.Time
	heard   atomic.Int64 // time of the last read, in ns after began
	mu      sync.Mutex
	own     Wire
	peer    *tally
	of      peer.ID // the peer, "" until it is known
}

// id returns the peer of the connection, "" until it is known.
func (c *countedConn) id() peer.ID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of
}

func (t *traffic) count(raw manet.Conn) *countedConn {
	return &countedConn{Conn: raw, traffic: t, began: time.Now()}
}

// Silence returns a function that returns the time since the last byte over c. It is nil over QUIC,
// whose connections are not counted one by one.
func Silence(c network.Conn) func() time.Duration {
	var below *countedConn
	if !c.As(&below) {
		return nil
	}
	return below.silence
}

// silence returns the time since the last read. It is independent of changes of the system clock.
func (c *countedConn) silence() time.Duration {
	return time.Since(c.began) - time.Duration(c.heard.Load())
}

func (c *countedConn) belongsTo(id peer.ID) {
	to := c.traffic.peer(id)
	c.mu.Lock()
	defer c.mu.Unlock()
	to.out.Add(c.own.Sent)
	to.in.Add(c.own.Received)
	c.peer, c.of = to, id
}

func (c *countedConn) add(out, in int64) {
	c.traffic.total.out.Add(out)
	c.traffic.total.in.Add(in)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.peer == nil {
		c.own.Sent += out
		c.own.Received += in
		return
	}
	c.peer.out.Add(out)
	c.peer.in.Add(in)
}

func (c *countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.heard.Store(int64(time.Since(c.began)))
	}
	c.add(0, int64(n))
	return n, err
}

func (c *countedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.add(int64(n), 0)
	return n, err
}

func (c *countedConn) Close() error {
	if c.closed != nil {
		c.closed()
	}
	c.traffic.forget(c.id())
	return c.Conn.Close()
}

type countedPackets struct {
	net.PacketConn
	socket *net.UDPConn
	total  *tally
}

func (c *countedPackets) ReadFrom(b []byte) (int, net.Addr, error) {
	n, from, err := c.PacketConn.ReadFrom(b)
	c.total.in.Add(int64(n))
	return n, from, err
}

func (c *countedPackets) WriteTo(b []byte, to net.Addr) (int, error) {
	n, err := c.PacketConn.WriteTo(b, to)
	c.total.out.Add(int64(n))
	return n, err
}

// SetReadBuffer lets quic-go ask for the buffer that it needs, as does SetWriteBuffer.
func (c *countedPackets) SetReadBuffer(n int) error { return c.socket.SetReadBuffer(n) }

// SetWriteBuffer is SetReadBuffer's other half.
func (c *countedPackets) SetWriteBuffer(n int) error { return c.socket.SetWriteBuffer(n) }
