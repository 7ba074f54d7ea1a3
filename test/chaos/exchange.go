//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// An exchange forwards bytes between peers without parsing them.
type exchange struct {
	hub    string
	peers  int
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu      sync.Mutex
	apart   func(i, j int) bool // no byte passes between the two; nil: all pass
	rotten  func(i, j int) bool // bits flip between the two; nil: none do
	changed chan struct{}       // closed and replaced at each change
	rand    *rand.Rand
}

// openExchange listens for all pairs in the namespace of the hub.
func openExchange(hub string, peers int, seed uint64) (*exchange, error) {
	x := &exchange{hub: hub, peers: peers, changed: make(chan struct{}), rand: rand.New(rand.NewPCG(seed, 1))}
	x.ctx, x.cancel = context.WithCancel(context.Background())
	for i := range peers {
		for j := range peers {
			if i == j {
				continue
			}
			in, err := within(hub, func() (net.Listener, error) {
				return net.Listen("tcp", fmt.Sprintf("%s:%d", gate(i), exchangePort+j))
			})
			if err != nil {
				x.close()
				return nil, err
			}
			context.AfterFunc(x.ctx, func() { in.Close() })
			x.wg.Go(func() { x.accept(in, i, j) })
		}
	}
	return x, nil
}

// dial connects to the port where a peer listens.
func (x *exchange) dial(rank int) (net.Conn, error) {
	return within(x.hub, func() (net.Conn, error) {
		return net.DialTimeout("tcp", fmt.Sprintf("%s:%d", address(rank), listenPort), 5*time.Second)
	})
}

// accept takes the connections of peer i to peer j.
func (x *exchange) accept(in net.Listener, i, j int) {
	for {
		a, err := in.Accept()
		if err != nil {
			return
		}
		x.wg.Go(func() { x.join(a, i, j) })
	}
}

// join forwards bytes between a and a new connection to peer j.
func (x *exchange) join(a net.Conn, i, j int) {
	defer a.Close()
	if !x.pass(i, j) {
		return
	}
	b, err := x.dial(j)
	if err != nil {
		return
	}
	end := sync.OnceFunc(func() { a.Close(); b.Close() })
	defer end()
	defer context.AfterFunc(x.ctx, end)()
	var back sync.WaitGroup
	back.Go(func() { x.copy(a, b, i, j); end() })
	x.copy(b, a, i, j)
	end()
	back.Wait()
}

// copy forwards bytes in one direction.
func (x *exchange) copy(to io.Writer, from io.Reader, i, j int) {
	piece := make([]byte, 4<<10)
	for {
		n, err := from.Read(piece)
		if n > 0 {
			if !x.pass(i, j) {
				return
			}
			x.spoil(piece[:n], i, j)
			if _, err := to.Write(piece[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// pass waits until bytes may pass between two peers. It returns false when the exchange closes.
func (x *exchange) pass(i, j int) bool {
	for {
		x.mu.Lock()
		apart, changed := x.apart != nil && x.apart(i, j), x.changed
		x.mu.Unlock()
		if !apart {
			return x.ctx.Err() == nil
		}
		select {
		case <-changed:
		case <-x.ctx.Done():
			return false
		}
	}
}

// spoil flips a bit in some of the pieces that pass between two peers.
func (x *exchange) spoil(piece []byte, i, j int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	const share = 0.02
	if x.rotten != nil && x.rotten(i, j) && x.rand.Float64() < share {
		piece[x.rand.IntN(len(piece))] ^= 1 << x.rand.IntN(8)
	}
}

// set changes how bytes pass.
func (x *exchange) set(change func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	change()
	close(x.changed)
	x.changed = make(chan struct{})
}

// harm begins a fault between peers and returns a function that ends it.
func (x *exchange) harm(f fault) (heal func() error) {
	switch f.kind {
	case split:
		x.set(func() { x.apart = func(i, j int) bool { return f.strikes(i, x.peers) != f.strikes(j, x.peers) } })
	case corrupt:
		x.set(func() { x.rotten = func(i, j int) bool { return i == f.rank || j == f.rank } })
	}
	return func() error {
		x.set(func() { x.apart, x.rotten = nil, nil })
		return nil
	}
}

// flood lets strangers connect to a peer, one after another. Each sends random bytes until the peer cuts it off.
func (x *exchange) flood(rank int) (heal func() error) {
	ctx, cancel := context.WithCancel(x.ctx)
	x.wg.Go(func() {
		noise := make([]byte, 64<<10)
		source := rand.NewChaCha8([32]byte{byte(rank)})
		for ctx.Err() == nil {
			c, err := x.dial(rank)
			if err != nil {
				continue
			}
			source.Read(noise)
			c.SetDeadline(time.Now().Add(time.Second))
			c.Write(noise)
			io.Copy(io.Discard, c)
			c.Close()
		}
	})
	return func() error { cancel(); return nil }
}

func (x *exchange) close() {
	x.cancel()
	x.wg.Wait()
}
