package socket

import (
	"cmp"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"syscall"

	"github.com/libp2p/go-libp2p/core/connmgr"
	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/sec"
	"github.com/libp2p/go-libp2p/core/transport"
	basichost "github.com/libp2p/go-libp2p/p2p/host/basic"
	"github.com/libp2p/go-libp2p/p2p/host/eventbus"
	"github.com/libp2p/go-libp2p/p2p/host/peerstore/pstoremem"
	"github.com/libp2p/go-libp2p/p2p/muxer/yamux"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	"github.com/libp2p/go-libp2p/p2p/net/upgrader"
	"github.com/libp2p/go-libp2p/p2p/security/noise"
	libp2ptls "github.com/libp2p/go-libp2p/p2p/security/tls"
	quic "github.com/libp2p/go-libp2p/p2p/transport/quic"
	"github.com/libp2p/go-libp2p/p2p/transport/quicreuse"
	ma "github.com/multiformats/go-multiaddr"
	quicgo "github.com/quic-go/quic-go"
)

// A stack assembles the parts of libp2p that a host uses. The constructor of libp2p itself would link
// WebRTC, WebTransport and WebSockets into the program, which no run can choose.
type stack struct {
	config *Config
	self   peer.ID
	limits network.ResourceManager
	bytes  *traffic
}

// host returns a host that listens. On failure it leaves nothing open.
func (s *stack) host() (_ host.Host, err error) {
	store, err := pstoremem.NewPeerstore()
	if err != nil {
		return nil, errors.Join(err, s.limits.Close())
	}
	key := s.config.Key
	if err := errors.Join(store.AddPrivKey(s.self, key), store.AddPubKey(s.self, key.GetPublic())); err != nil {
		return nil, errors.Join(err, store.Close(), s.limits.Close())
	}
	bus := eventbus.NewBus()
	network, err := swarm.NewSwarm(s.self, store, bus,
		swarm.WithConnectionGater(s.config.Gate),
		swarm.WithResourceManager(s.limits),
		swarm.WithDialRanker(s.bytes.networks.rank),
		swarm.WithUDPBlackHoleSuccessCounter(nil), // users must see that UDP or IPv6 does not work
		swarm.WithIPv6BlackHoleSuccessCounter(nil))
	if err != nil {
		return nil, errors.Join(err, store.Close(), s.limits.Close())
	}
	h, err := basichost.NewHost(network, &basichost.HostOpts{
		EventBus:     bus,
		ConnManager:  &connmgr.NullConnMgr{},
		AddrsFactory: shown,
		UserAgent:    "gossiptrainer",
	})
	if err != nil {
		return nil, errors.Join(err, network.Close(), store.Close(), s.limits.Close())
	}
	carrier, err := s.transport()
	if err == nil {
		err = network.AddTransport(carrier)
	}
	if err == nil {
		err = s.listen(network)
	}
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	h.Start()
	return h, nil
}

// listen listens on all addresses. One that this machine does not have, such as an address of IPv6 where there is none,
// is left out if another one can be used. One that another program uses is not.
func (s *stack) listen(network *swarm.Swarm) error {
	var failed error
	listens := false
	for _, text := range s.config.listenAddrs() {
		addr, err := ma.NewMultiaddr(text)
		if err == nil {
			err = network.AddListenAddr(addr)
		}
		if errors.Is(err, syscall.EADDRINUSE) {
			return err
		}
		listens, failed = listens || err == nil, cmp.Or(failed, err)
	}
	if listens {
		return nil
	}
	return failed
}

// transport returns QUIC, which has its own encryption and streams, or TCP with the chosen encryption
// and yamux.
func (s *stack) transport() (transport.Transport, error) {
	if s.config.Transport == QUIC {
		shared, err := s.quic()
		if err != nil {
			return nil, err
		}
		t, err := quic.NewTransport(s.config.Key, shared, nil, s.config.Gate, s.limits)
		return &openTransport{t, s.bytes.dialled}, err
	}
	muxers := []upgrader.StreamMuxer{{ID: yamux.ID, Muxer: muxer(s.bytes.shaper.window())}}
	seal, err := s.security(muxers)
	if err != nil {
		return nil, err
	}
	up, err := upgrader.New([]sec.SecureTransport{seal}, muxers, nil, s.limits, s.config.Gate)
	if err != nil {
		return nil, err
	}
	return s.bytes.tcp(up, s.limits)
}

func (s *stack) security(muxers []upgrader.StreamMuxer) (sec.SecureTransport, error) {
	switch s.config.Security {
	case Noise:
		return noise.New(noise.ID, s.config.Key, muxers)
	case None:
		return &opener{s.config.Key, s.self}, nil
	default:
		return newSealer(libp2ptls.ID, s.config.Key)
	}
}

// quic makes the sockets of QUIC. It derives the keys of resets and tokens from the identity. So a
// peer that starts again ends the connections of its earlier process at once.
func (s *stack) quic() (*quicreuse.ConnManager, error) {
	reset, err := derived(s.config.Key, "gossiptrainer quic stateless reset")
	if err != nil {
		return nil, err
	}
	token, err := derived(s.config.Key, "gossiptrainer quic token")
	if err != nil {
		return nil, err
	}
	return s.bytes.quic(quicgo.StatelessResetKey(reset), quicgo.TokenGeneratorKey(token),
		quicreuse.OverrideListenUDP(s.bytes.udp))
}

// derived returns 32 bytes derived from a key for one purpose (RFC 5869).
func derived(key crypto.PrivKey, purpose string) ([]byte, error) {
	raw, err := key.Raw()
	if err != nil {
		return nil, err
	}
	return hkdf.Key(sha256.New, raw, nil, purpose, sha256.Size)
}
