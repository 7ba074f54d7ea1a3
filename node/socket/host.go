// Package socket is the libp2p host of a peer. It holds all below the streams: the encryption, the
// limits of the bytes sent, and the counters of bytes and refusals.
//
// It opens streams and counts the bytes on the wire. It knows no run, no worker and no frame. A gate
// (package join) decides which connections may exist; packages handshake and link define the contents
// of streams.
package socket

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"time"

	"github.com/libp2p/go-libp2p/core/connmgr"
	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	rcmgr "github.com/libp2p/go-libp2p/p2p/host/resource-manager"
	"github.com/libp2p/go-libp2p/p2p/muxer/yamux"
	"github.com/libp2p/go-libp2p/p2p/protocol/identify"
	"github.com/libp2p/go-libp2p/x/rate"

	"gossiptrainer/internal/shape"
	"gossiptrainer/topology"
)

// The host probes a connection that is silent this long. Connections of neighbours are never silent,
// since their frames include signs of life. On a slow link an answer may come later than package link
// notices an end.
const (
	keepAlive    = time.Minute
	writeTimeout = time.Minute
)

// Values of Config.Transport and Config.Security.
const (
	TCP   = "tcp"
	QUIC  = "quic"
	TLS   = "tls"
	Noise = "noise"
	None  = "none" // no encryption: see Config.Trusted
)

// A Config holds the addresses, the transport and the limits of a host.
type Config struct {
	Key       crypto.PrivKey
	KeyFile   string   // of Key, for messages; "" without one
	Listen    []string // multiaddrs; empty: all interfaces, free ports
	Transport string   // TCP (also "") or QUIC
	Security  string   // for TCP: TLS (also ""), Noise or None
	// Trusted names the networks, besides loopback, with whose peers a host without encryption connects.
	Trusted   []netip.Prefix
	Workers   int // of the run: connections, streams and memory are bounded in proportion
	Network   shape.Network
	Throttled bool // whether Throttle may be called
	// Gate decides which connections may exist.
	Gate connmgr.ConnectionGater
	// Keep reports whether a peer's byte count outlives its connections; nil: all do.
	Keep func(peer.ID) bool
}

// A ListenError says that a host cannot listen.
type ListenError struct {
	Addrs []string
	Err   error
}

func (e *ListenError) Error() string { return fmt.Sprintf("listen on %v: %v", e.Addrs, e.Err) }

// Unwrap returns the cause.
func (e *ListenError) Unwrap() error { return e.Err }

// Hint says what to do, "" where the error says all.
func (e *ListenError) Hint() string {
	switch {
	case errors.Is(e.Err, syscall.EADDRINUSE):
		return "another program has the port, or another peer: ss -lntup names it; end it, or set node.listen to a free " +
			"port, and list that one under peers: where there is a roster"
	case errors.Is(e.Err, syscall.EADDRNOTAVAIL):
		return "no interface of this machine has the address: correct node.listen; ip address lists those that there are"
	}
	return ""
}

// An untrustedError refuses a connection without encryption to or from an address outside the named
// networks.
type untrustedError struct{ Addr string }

func (e *untrustedError) Error() string {
	return fmt.Sprintf("node.security is none, and %s is neither loopback nor in node.trusted: "+
		"name its network there if you trust all who are on the way, or set node.security to tls", e.Addr)
}

// trusts returns nil if bytes may travel to and from an address without encryption.
func (c *Config) trusts(at net.Addr) error {
	if c.Security != None {
		return nil
	}
	if tcp, ok := at.(*net.TCPAddr); ok {
		addr := tcp.AddrPort().Addr().Unmap().WithZone("")
		inside := func(p netip.Prefix) bool { return p.Contains(addr) }
		if addr.IsLoopback() || slices.ContainsFunc(c.Trusted, inside) {
			return nil
		}
	}
	return &untrustedError{at.String()}
}

// A Host is a libp2p host whose bytes are counted and shaped below the encryption.
type Host struct {
	host.Host
	bytes   *traffic
	keyFile string
}

// New starts a libp2p host with the services of a run only: no relay, no NAT mapping, no DHT, no
// metrics registry. It sets every default that matters by name. It fails with a *ListenError if it
// cannot listen.
func New(c Config) (*Host, error) {
	bytes := newTraffic(newShaper(c.Network, c.Throttled))
	bytes.keeps, bytes.trusts = c.Keep, c.trusts
	limits, err := resources(c.Workers)
	if err != nil {
		return nil, err
	}
	self, err := peer.IDFromPrivateKey(c.Key)
	if err != nil {
		return nil, fmt.Errorf("node: identity: %w", err)
	}
	parts := stack{config: &c, self: self, limits: limits, bytes: bytes}
	h, err := parts.host()
	if err != nil {
		return nil, &ListenError{c.listenAddrs(), err}
	}
	h.Network().Notify(&network.NotifyBundle{ConnectedF: entered})
	return &Host{h, bytes, c.KeyFile}, nil
}

// Close closes all connections and waits until shaped ones have sent their last bytes.
func (h *Host) Close() error { return errors.Join(h.Host.Close(), h.bytes.close()) }

// Know enters the ids of all workers by rank. self is this one. Links with a limit of their
// own have it from now on.
func (h *Host) Know(self topology.Rank, ids []peer.ID) { h.bytes.shaper.know(self, ids) }

// Pace waits until bytes of a frame to id may be written, or until over is closed.
func (h *Host) Pace(id peer.ID, bytes int, over <-chan struct{}) {
	h.bytes.shaper.pace(id, bytes, over)
}

// Pieces returns how many bytes of a frame to id are written at once.
func (h *Host) Pieces(id peer.ID) int { return h.bytes.shaper.pieces(id) }

// Rate returns the limit of this host's bytes to id in bits per second, 0 without one.
func (h *Host) Rate(id peer.ID) float64 { return h.bytes.shaper.link(id).Rate }

// Throttle limits all that this host sends to bits per second; 0 restores the limit
// of Config.Network.
func (h *Host) Throttle(bits float64) { h.bytes.shaper.limit(bits) }

// Slowest returns the least bits per second of all links of the run, 0 if none is
// limited. It is the same for all peers.
func (h *Host) Slowest() float64 { return h.bytes.shaper.slowest() }

// Total returns the bytes that have passed the sockets of this host.
func (h *Host) Total() Wire { return h.bytes.total.read() }

// Carried returns the bytes of Total that went to and came from id. Over QUIC, whose
// connections share a socket, they are 0.
func (h *Host) Carried(id peer.ID) Wire { return h.bytes.peer(id).read() }

func (c *Config) listenAddrs() []string {
	switch {
	case len(c.Listen) > 0:
		return c.Listen
	case c.Transport == QUIC:
		return []string{"/ip4/0.0.0.0/udp/0/quic-v1", "/ip6/::/udp/0/quic-v1"}
	case c.Security == None && len(c.Trusted) == 0:
		return []string{"/ip4/127.0.0.1/tcp/0", "/ip6/::1/tcp/0"}
	default:
		return []string{"/ip4/0.0.0.0/tcp/0", "/ip6/::/tcp/0"}
	}
}

// muxer returns the multiplexer of a connection. Its streams have a fixed window, in bytes. Windows that grow with
// the round trips of an idle link would ignore the bytes that wait below the stream. Readers always read, and links
// pace their writes, so a window is never a queue.
func muxer(window uint32) *yamux.Transport {
	config := *yamux.DefaultTransport
	config.MaxMessageSize = shape.Chunk + 12 // with the header of a message
	config.InitialStreamWindowSize, config.MaxStreamWindowSize = window, window
	config.MaxIncomingStreams = peerStreams
	config.KeepAliveInterval, config.ConnectionWriteTimeout = keepAlive, writeTimeout
	return &config
}

// Bounds of one connection or one peer. A link needs a stream, telemetry two, a
// roll call one, and libp2p a few short ones.
const (
	peerConns   = 8
	peerStreams = 32
	connMemory  = 32 << 20
)

// resources bounds the resources that other peers can use: all peers together, those that have not yet
// opened a protocol, and each. It lifts the limits per IP address, since all peers of one machine,
// container host or IPv6 network share one. The defaults (8 connections, 1 new one per 5 seconds)
// would refuse most of them. The gate limits the calls of strangers.
func resources(n int) (network.ResourceManager, error) {
	defaults := rcmgr.DefaultLimits
	limitIdentify(&defaults)
	conns := rcmgr.LimitVal(256 + 4*n)
	room := rcmgr.ResourceLimits{
		Conns: 2 * conns, ConnsInbound: conns, ConnsOutbound: conns,
		Streams: 8 * conns, StreamsInbound: 4 * conns, StreamsOutbound: 4 * conns,
		FD: 2 * conns, Memory: rcmgr.LimitVal64(conns) << 20,
	}
	everybody := room
	everybody.Memory = rcmgr.LimitVal64(64+n) * connMemory
	limits := rcmgr.PartialLimitConfig{
		System: everybody, Transient: room,
		PeerDefault: rcmgr.ResourceLimits{
			Conns: 2 * peerConns, ConnsInbound: peerConns, ConnsOutbound: peerConns, FD: 2 * peerConns,
			Streams: 2 * peerStreams, StreamsInbound: peerStreams, StreamsOutbound: peerStreams,
			Memory: 2 * connMemory,
		},
		Conn: rcmgr.ResourceLimits{
			Conns: 1, ConnsInbound: 1, ConnsOutbound: 1, FD: 1,
			Streams: 2 * peerStreams, StreamsInbound: peerStreams, StreamsOutbound: peerStreams,
			Memory: connMemory,
		},
	}.Build(defaults.AutoScale())
	everyone := []rcmgr.ConnLimitPerSubnet{{ConnCount: math.MaxInt32, PrefixLength: 0}}
	m, err := rcmgr.NewResourceManager(rcmgr.NewFixedLimiter(limits),
		rcmgr.WithLimitPerSubnet(everyone, everyone),
		rcmgr.WithConnRateLimiters(&rate.Limiter{}),
		rcmgr.WithMetricsDisabled())
	if err != nil {
		return nil, fmt.Errorf("node: resource limits: %w", err)
	}
	return m, nil
}

// limitIdentify bounds identify, by which peers tell each other their addresses and protocols: for all
// peers together, and for each. It is the one libp2p service of a host.
func limitIdentify(limits *rcmgr.ScalingLimitConfig) {
	all := rcmgr.BaseLimit{StreamsInbound: 64, StreamsOutbound: 64, Streams: 128, Memory: 4 << 20}
	more := rcmgr.BaseLimitIncrease{StreamsInbound: 64, StreamsOutbound: 64, Streams: 128, Memory: 4 << 20}
	each := rcmgr.BaseLimit{StreamsInbound: 16, StreamsOutbound: 16, Streams: 32, Memory: 1 << 20}
	limits.AddServiceLimit(identify.ServiceName, all, more)
	limits.AddServicePeerLimit(identify.ServiceName, each, rcmgr.BaseLimitIncrease{})
	for _, id := range []protocol.ID{identify.ID, identify.IDPush} {
		limits.AddProtocolLimit(id, all, more)
		limits.AddProtocolPeerLimit(id, each, rcmgr.BaseLimitIncrease{})
	}
}

// mostUnsent is how many bytes of a connection may wait in the kernel after Prompt: a TLS record, which takes 13 ms at
// 10 Mbit/s.
const mostUnsent = 16 << 10

// Prompt makes writes to c wait until all but a few bytes have been sent. Without it the kernel takes whole messages,
// and sends those of all connections side by side. It has no effect over QUIC, or where the kernel has no such limit.
func Prompt(c network.Conn) {
	var below *countedConn
	if !c.As(&below) {
		return
	}
	if tcp, ok := below.Conn.(syscall.Conn); ok {
		if raw, err := tcp.SyscallConn(); err == nil {
			limitUnsent(raw, mostUnsent)
		}
	}
}
