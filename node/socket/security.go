package socket

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/libp2p/go-libp2p/core/sec"
	"github.com/libp2p/go-libp2p/p2p/muxer/yamux"
	libp2ptls "github.com/libp2p/go-libp2p/p2p/security/tls"
	"github.com/quic-go/quic-go"
)

// A sealer is libp2p's TLS 1.3 (https://github.com/libp2p/specs/blob/master/tls/tls.md) with two
// changes. First, its certificates are valid at all times. Those of libp2p begin an hour before their
// process, so machines whose clocks differ by more cannot connect. Second, it stores keying material
// of the session, which only its two ends know, at the connection below. The proof of the join secret
// uses it.
type sealer struct {
	id       protocol.ID
	identity *libp2ptls.Identity
	self     peer.ID
}

func newSealer(id protocol.ID, key crypto.PrivKey) (*sealer, error) {
	self, err := peer.IDFromPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("node: tls: %w", err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return nil, fmt.Errorf("node: tls: %w", err)
	}
	identity, err := libp2ptls.NewIdentity(key, libp2ptls.WithCertTemplate(&x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{SerialNumber: serial.String()},
		NotBefore:    time.Unix(0, 0),
		NotAfter:     time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC), // RFC 5280, 4.1.2.5: no end
	}))
	if err != nil {
		return nil, fmt.Errorf("node: tls: %w", err)
	}
	return &sealer{id, identity, self}, nil
}

// ID returns the name under which peers agree on this protocol.
func (s *sealer) ID() protocol.ID { return s.id }

// SecureInbound does the handshake as a server. The client must be who, or any peer for "".
func (s *sealer) SecureInbound(ctx context.Context, below net.Conn, who peer.ID) (sec.SecureConn, error) {
	return s.secure(ctx, below, who, false)
}

// SecureOutbound does the handshake as a client of who.
func (s *sealer) SecureOutbound(ctx context.Context, below net.Conn, who peer.ID) (sec.SecureConn, error) {
	return s.secure(ctx, below, who, true)
}

func (s *sealer) secure(ctx context.Context, below net.Conn, who peer.ID, client bool) (sec.SecureConn, error) {
	side := tls.Server
	if client {
		side = tls.Client
	}
	config, keys := s.identity.ConfigForPeer(who)
	config.NextProtos = append([]string{string(yamux.ID)}, config.NextProtos...) // saves a later agreement
	config.DynamicRecordSizingDisabled = true                                    // small first records are for browsers
	config.SessionTicketsDisabled = true                                         // a new connection is a new session
	socket := newGather(below)
	c, err := s.handshake(ctx, side(socket, config), keys)
	if err != nil {
		below.Close()
		return nil, err
	}
	c.socket = socket
	state := c.ConnectionState()
	if counted := countedBelow(below); counted != nil {
		if counted.session, err = exported(&state); err != nil {
			c.Close()
			return nil, err
		}
	}
	return c, nil
}

func (s *sealer) handshake(ctx context.Context, c *tls.Conn, keys <-chan crypto.PubKey) (*sealedConn, error) {
	if err := c.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	key, ok := <-keys // closed when the certificate has been checked
	if !ok {
		return nil, errors.New("node: tls: no key of the other end")
	}
	who, err := peer.IDFromPublicKey(key)
	if err != nil {
		return nil, err
	}
	agreed := protocol.ID(c.ConnectionState().NegotiatedProtocol)
	if agreed != yamux.ID {
		agreed = "" // the peer agrees on a multiplexer later
	}
	return &sealedConn{Conn: c, partner: partner{self: s.self, peer: who, key: key, state: network.ConnectionState{
		StreamMultiplexer: agreed, UsedEarlyMuxerNegotiation: agreed != "",
	}}}, nil
}

// A partner is the other end of a connection, which has proven its key.
type partner struct {
	self, peer peer.ID
	key        crypto.PubKey
	state      network.ConnectionState
}

func (p *partner) LocalPeer() peer.ID                 { return p.self }
func (p *partner) RemotePeer() peer.ID                { return p.peer }
func (p *partner) RemotePublicKey() crypto.PubKey     { return p.key }
func (p *partner) ConnState() network.ConnectionState { return p.state }

// A sealedConn is a connection that crypto/tls encrypts. The records of a write leave together.
type sealedConn struct {
	*tls.Conn
	socket *gather
	partner
}

func (c *sealedConn) Write(p []byte) (int, error) {
	c.socket.message(true)
	n, err := c.Conn.Write(p)
	return n, cmp.Or(err, c.socket.message(false))
}

// Close tells the other end, unless a write is under way.
func (c *sealedConn) Close() error {
	if !c.socket.idle() {
		c.socket.Conn.Close()
	}
	return c.Conn.Close()
}

// exported returns keying material that only the two ends of a TLS session can compute (RFC 8446,
// section 7.5).
func exported(s *tls.ConnectionState) ([]byte, error) {
	return s.ExportKeyingMaterial("EXPORTER-gossiptrainer-admission", nil, 32)
}

// Session returns bytes that bind a proof to the encryption of c: the exported keying material of TLS,
// over TCP and QUIC. It returns none for libp2p's Noise, which exports nothing. A proof then depends
// on the ids, which the handshake has verified, and on the nonces of both ends.
func Session(c network.Conn) ([]byte, error) {
	var below *countedConn
	if c.As(&below) {
		return below.session, nil
	}
	var q *quic.Conn
	if c.As(&q) {
		state := q.ConnectionState().TLS
		return exported(&state)
	}
	return nil, nil
}
