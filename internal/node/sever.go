package node

import (
	"github.com/libp2p/go-libp2p/core/peer"

	"gossiptrainer/topology"
)

// Faults on purpose: what a script makes of the links of this peer. Real networks do it
// unasked.

// Sever ends the connections with some workers, and lets none be made with them until it is
// called again without them. It is called after SetRoster, or when Join has returned.
func (n *Node) Sever(ranks []topology.Rank) {
	n.mu.Lock()
	r := n.roster
	n.mu.Unlock()
	ids := make(map[peer.ID]bool, len(ranks))
	for _, rank := range ranks {
		ids[r.IDs[rank]] = true
	}
	n.gate.Sever(ids)
	for id := range ids { // closing may take as long as what is on its way
		n.wg.Go(func() { _ = n.host.Network().ClosePeer(id) })
	}
}

// Throttle makes all that this peer sends leave at no more than so many bits per second from
// now on; 0 is as Options.Network says. It needs Options.Throttled.
func (n *Node) Throttle(bits float64) { n.host.Throttle(bits) }
