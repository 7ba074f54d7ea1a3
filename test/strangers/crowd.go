//go:build unix

package main

import (
	"context"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"

	"gossiptrainer/node/socket"
)

// A crowd is a number of strangers that call. Most of them know only the address of a peer and send garbage. Every
// hundredth speaks libp2p with an identity of its own and sends garbage instead of frames.
type crowd struct {
	calls, garbage   int
	made, met, taken atomic.Int64
}

// A target is where a peer listens, host:port, and its id.
type target struct{ addr, id string }

const (
	polite  = 100 // one in this number speaks libp2p
	atOnce  = 16
	patient = time.Second
)

// come makes all calls, to each peer in turn.
func (c *crowd) come(ctx context.Context, targets []target) {
	c.made.Store(0)
	c.met.Store(0)
	c.taken.Store(0)
	text := make([]byte, c.garbage)
	rand.NewChaCha8([32]byte{}).Read(text)
	turns := make(chan int)
	var wg sync.WaitGroup
	for range atOnce {
		wg.Go(func() {
			for i := range turns {
				at := targets[i%len(targets)]
				if i%polite == 0 {
					c.speak(ctx, at, text)
				} else {
					c.shout(ctx, at, text)
				}
			}
		})
	}
	for i := 0; i < c.calls && ctx.Err() == nil; i++ {
		turns <- i
	}
	close(turns)
	wg.Wait()
}

// shout sends garbage at once. A call counts if the peer accepts the connection.
func (c *crowd) shout(ctx context.Context, at target, text []byte) {
	for ctx.Err() == nil {
		dialer := net.Dialer{Timeout: patient}
		conn, err := dialer.DialContext(ctx, "tcp", at.addr)
		if err != nil {
			time.Sleep(10 * time.Millisecond) // the peer does not listen yet
			continue
		}
		conn.SetDeadline(time.Now().Add(patient))
		n, _ := conn.Write(text)
		conn.Close()
		c.taken.Add(int64(n))
		c.made.Add(1)
		return
	}
}

// speak completes a handshake and sends garbage instead of a link's first message.
func (c *crowd) speak(ctx context.Context, at target, text []byte) {
	defer c.made.Add(1)
	key, _, err := crypto.GenerateEd25519Key(nil)
	if err != nil {
		return
	}
	who, err := socket.New(socket.Config{Key: key, Listen: []string{"/ip4/127.0.0.1/tcp/0"}, Workers: 1})
	if err != nil {
		return
	}
	defer who.Close()
	ctx, cancel := context.WithTimeout(ctx, patient)
	defer cancel()
	victim, err := peer.AddrInfoFromString(multiaddr(at.addr) + "/p2p/" + at.id)
	if err != nil || who.Connect(ctx, *victim) != nil {
		return
	}
	c.met.Add(1)
	s, err := who.NewStream(network.WithNoDial(ctx, "garbage"), victim.ID, "/gossiptrainer/link/1.0.0")
	if err != nil {
		return
	}
	defer s.Reset()
	s.SetDeadline(time.Now().Add(patient))
	n, _ := s.Write(text)
	c.taken.Add(int64(n))
}

func multiaddr(at string) string {
	host, port, _ := net.SplitHostPort(at) // a listener's address always splits
	return "/ip4/" + host + "/tcp/" + port
}
