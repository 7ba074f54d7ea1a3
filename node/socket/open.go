package socket

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/libp2p/go-libp2p/core/sec"
	"github.com/libp2p/go-libp2p/p2p/muxer/yamux"
)

// openID is the protocol of connections without encryption. A host offers it alone or not at all, so
// no peer can bring another one to it.
const openID protocol.ID = "/gossiptrainer/open/1.0.0"

// An opener connects peers without encryption. Both ends prove their keys once, by a signature over
// the greetings of both, each with a fresh nonce. Later bytes are neither secret nor protected: who
// can change bytes on the way can change models.
type opener struct {
	key  crypto.PrivKey
	self peer.ID
}

// Bounds of a greeting: a marshalled public key and a nonce.
const (
	nonceLen = 32
	mostKey  = 1 << 10
)

// errTampered says that the proof of a key does not fit the greetings.
var errTampered = errors.New(
	"node: security none: the signature of the other end does not fit its key and the greetings")

// ID returns the name under which peers agree on this protocol.
func (o *opener) ID() protocol.ID { return openID }

// SecureInbound greets as a server. The client must be who, or any peer for "".
func (o *opener) SecureInbound(ctx context.Context, below net.Conn, who peer.ID) (sec.SecureConn, error) {
	return o.connect(ctx, below, who, false)
}

// SecureOutbound greets as a client of who.
func (o *opener) SecureOutbound(ctx context.Context, below net.Conn, who peer.ID) (sec.SecureConn, error) {
	return o.connect(ctx, below, who, true)
}

func (o *opener) connect(ctx context.Context, below net.Conn, who peer.ID, client bool) (sec.SecureConn, error) {
	if until, ok := ctx.Deadline(); ok {
		below.SetDeadline(until)
	}
	hurry := context.AfterFunc(ctx, func() { below.SetDeadline(time.Unix(1, 0)) })
	c, err := o.greet(below, who, client)
	if !hurry() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		below.Close()
		return nil, err
	}
	below.SetDeadline(time.Time{})
	return c, nil
}

// greet exchanges greetings and the signatures over both.
func (o *opener) greet(below net.Conn, who peer.ID, client bool) (*openConn, error) {
	public, err := crypto.MarshalPublicKey(o.key.GetPublic())
	if err != nil {
		return nil, err
	}
	mine := make([]byte, nonceLen, nonceLen+len(public))
	rand.Read(mine)
	mine = append(mine, public...)
	theirs, err := swap(below, mine, client)
	if err != nil {
		return nil, err
	}
	if len(theirs) < nonceLen {
		return nil, errTampered
	}
	key, err := crypto.UnmarshalPublicKey(theirs[nonceLen:])
	if err != nil {
		return nil, fmt.Errorf("node: security none: the key of the other end: %w", err)
	}
	id, err := peer.IDFromPublicKey(key)
	if err != nil {
		return nil, err
	}
	if who != "" && id != who {
		return nil, sec.ErrPeerIDMismatch{Expected: who, Actual: id}
	}
	both := [2][]byte{mine, theirs}
	if !client {
		both = [2][]byte{theirs, mine}
	}
	proof, err := o.key.Sign(transcript("proof", client, both))
	if err != nil {
		return nil, err
	}
	answer, err := swap(below, proof, client)
	if err != nil {
		return nil, err
	}
	if fits, err := key.Verify(transcript("proof", !client, both), answer); err != nil || !fits {
		return nil, errTampered
	}
	counted := countedBelow(below)
	if counted != nil {
		counted.session = transcript("session", true, both)
	}
	return &openConn{below, bufio.NewReaderSize(below, intakeLen), partner{o.self, id, key, network.ConnectionState{
		StreamMultiplexer: yamux.ID, UsedEarlyMuxerNegotiation: true,
	}}}, nil
}

// transcript is a hash of the greetings of the client and the server, for one purpose of one end.
func transcript(purpose string, client bool, both [2][]byte) []byte {
	h := sha256.New()
	fmt.Fprintf(h, "gossiptrainer open %s %t", purpose, client)
	for _, greeting := range both {
		h.Write(binary.BigEndian.AppendUint16(nil, uint16(len(greeting))))
		h.Write(greeting)
	}
	return h.Sum(nil)
}

// swap exchanges short messages and returns that of the other end. The client begins.
func swap(c net.Conn, mine []byte, client bool) (theirs []byte, err error) {
	if client {
		if err := say(c, mine); err != nil {
			return nil, err
		}
		return hear(c)
	}
	if theirs, err = hear(c); err != nil {
		return nil, err
	}
	return theirs, say(c, mine)
}

func say(c net.Conn, mine []byte) error {
	_, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(mine))), mine...))
	return err
}

func hear(c net.Conn) ([]byte, error) {
	var size [2]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint16(size[:]))
	if n > nonceLen+mostKey {
		return nil, fmt.Errorf("node: security none: a greeting of %d bytes: want at most %d", n, nonceLen+mostKey)
	}
	theirs := make([]byte, n)
	_, err := io.ReadFull(c, theirs)
	return theirs, err
}

// An openConn is a connection without encryption.
type openConn struct {
	net.Conn
	in *bufio.Reader
	partner
}

func (c *openConn) Read(p []byte) (int, error) { return c.in.Read(p) }
