package socket

import (
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	ma "github.com/multiformats/go-multiaddr"
)

// networks are the speeds of the networks of this machine, by the names of its interfaces. A connection with a peer to
// which there is no link measures nothing: it is dialled over the networks that are fast for others first.
type networks struct {
	mu    sync.Mutex
	rates map[string]float64 // the best that was measured, in bits per second
}

// far is how much slower than the fastest network one must be to be dialled later, and late is how much later.
const (
	far  = 4
	late = 300 * time.Millisecond
)

// learn notes the speed of a connection over an interface.
func (n *networks) learn(over string, s Speed) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.rates == nil {
		n.rates = make(map[string]float64)
	}
	n.rates[over] = max(n.rates[over], s.Rate)
}

// rank orders addresses for a dial, as libp2p does, but slow networks come later.
func (n *networks) rank(addrs []ma.Multiaddr) []network.AddrDelay {
	ranked := swarm.DefaultDialRanker(addrs)
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.rates) < 2 {
		return ranked
	}
	best := 0.0
	for _, rate := range n.rates {
		best = max(best, rate)
	}
	for i, at := range ranked {
		ip, ok := AddrOf(at.Addr)
		if rate := n.rates[InterfaceTo(ip)]; ok && rate > 0 && rate*far < best {
			ranked[i].Delay += late
		}
	}
	return ranked
}
