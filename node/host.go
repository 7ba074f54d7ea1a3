package node

import (
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/connmgr"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/p2p/host/peerstore/pstoremem"
	rcmgr "github.com/libp2p/go-libp2p/p2p/host/resource-manager"
	muxer "github.com/libp2p/go-libp2p/p2p/muxer/yamux"
	"github.com/libp2p/go-libp2p/p2p/security/noise"
	libp2ptls "github.com/libp2p/go-libp2p/p2p/security/tls"
	quic "github.com/libp2p/go-libp2p/p2p/transport/quic"
	"github.com/libp2p/go-libp2p/p2p/transport/quicreuse"
	"github.com/libp2p/go-libp2p/x/rate"
	"github.com/libp2p/go-yamux/v5"
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
)

// A neighbour that hangs, or whose cable is pulled, is noticed when nothing has
// come for Detect, or a quarter more; one that has nothing to say gives this many
// signs of life in that time.
const (
	defaultDetect  = 15 * time.Second
	beatsPerDetect = 4
)

// Connections that are silent this long are asked for a sign of life. Those of
// neighbours never are, since they give theirs unasked; on a slow link an answer
// may be later than an end is noticed.
const (
	keepAlive    = time.Minute
	writeTimeout = time.Minute
)

// leastWindow and mostWindow bound how many bytes of a stream may be under way.
const (
	leastWindow = 4 << 20
	mostWindow  = 16 << 20
)

// newHost starts a libp2p host that does what a run needs and nothing else:
// no relay, no NAT mapping, no DHT, no metrics registry. Every default that
// matters is set here by name.
func newHost(o Options, g *gate, bytes *traffic) (host.Host, error) {
	limits, err := resources(o.N)
	if err != nil {
		return nil, err
	}
	store, err := pstoremem.NewPeerstore()
	if err != nil {
		return nil, fmt.Errorf("node: peerstore: %w", err)
	}
	opts := []libp2p.Option{
		libp2p.Identity(o.Identity.key),
		libp2p.UserAgent("gossiptrainer"),
		libp2p.Peerstore(store),
		libp2p.ResourceManager(limits),
		libp2p.ConnectionGater(g),
		libp2p.ConnectionManager(&connmgr.NullConnMgr{}),
		libp2p.ListenAddrStrings(o.listenAddrs()...),
		libp2p.AddrsFactory(announced),
		libp2p.DisableRelay(),
		libp2p.DisableMetrics(),
		libp2p.DisableIdentifyAddressDiscovery(),
		libp2p.Ping(false),
	}
	h, err := libp2p.NewWithoutDefaults(append(opts, o.transport(bytes)...)...)
	if err != nil {
		return nil, &NetworkError{Op: "listen on " + fmt.Sprint(o.listenAddrs()), Err: err}
	}
	return h, nil
}

func (o *Options) listenAddrs() []string {
	switch {
	case len(o.Listen) > 0:
		return o.Listen
	case o.Transport == QUIC:
		return []string{"/ip4/0.0.0.0/udp/0/quic-v1", "/ip6/::/udp/0/quic-v1"}
	default:
		return []string{"/ip4/0.0.0.0/tcp/0", "/ip6/::/tcp/0"}
	}
}

// transport chooses QUIC, which brings its own encryption and streams, or TCP
// with the encryption asked for and yamux.
func (o *Options) transport(bytes *traffic) []libp2p.Option {
	if o.Transport == QUIC {
		return []libp2p.Option{
			libp2p.Transport(quic.NewTransport),
			libp2p.QUICReuse(bytes.quic, quicreuse.OverrideListenUDP(bytes.udp)),
		}
	}
	security := libp2p.Security(libp2ptls.ID, newSealer)
	if o.Security == Noise {
		security = libp2p.Security(noise.ID, noise.New)
	}
	return []libp2p.Option{
		libp2p.Transport(bytes.tcp),
		security,
		libp2p.Muxer(muxer.ID, (*muxer.Transport)(yamuxConfig(bytes.shaper.window()))),
	}
}

// yamuxConfig returns that of streams with a window. It is there from the start:
// yamux enlarges windows by round trips of an idle link, which know nothing of what
// waits below the stream. Readers always read, and links pace what they write: a
// window is never a queue.
func yamuxConfig(window uint32) *yamux.Config {
	streams := *muxer.DefaultTransport.Config()
	streams.KeepAliveInterval = keepAlive
	streams.InitialStreamWindowSize = window
	streams.ConnectionWriteTimeout = writeTimeout
	streams.MaxIncomingStreams = peerStreams
	streams.LogOutput = io.Discard
	return &streams
}

// What a connection or a peer may use. A link needs a stream, telemetry two, a
// roll call one, and libp2p a few short ones.
const (
	peerConns   = 8
	peerStreams = 32
	connMemory  = 32 << 20
)

// resources bounds what others can make this host hold: all of them together,
// those that have not said yet what they want, and each. The limits per IP
// address are lifted, since peers of one machine, one container host or one IPv6
// network share one, and the defaults (8 connections, 1 new one per 5 seconds)
// would refuse most of them; that strangers do not call too often is the gate's
// concern.
func resources(n int) (network.ResourceManager, error) {
	defaults := rcmgr.DefaultLimits
	libp2p.SetDefaultServiceLimits(&defaults)
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

// announced leaves out addresses that mean another machine, or nothing, to
// whoever reads them: loopback, unless there is nothing else, and link-local.
func announced(addrs []ma.Multiaddr) []ma.Multiaddr {
	far := slices.DeleteFunc(slices.Clone(addrs), func(a ma.Multiaddr) bool {
		return manet.IsIPLoopback(a) || manet.IsIP6LinkLocal(a) || manet.IsIPUnspecified(a)
	})
	if len(far) > 0 {
		return far
	}
	return slices.DeleteFunc(slices.Clone(addrs), manet.IsIPUnspecified)
}
