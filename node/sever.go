package node

import (
	"github.com/libp2p/go-libp2p/core/peer"

	"gossiptrainer/topology"
)

// A fault script breaks the links of this peer on purpose, as real networks break them by accident.
// The functions here do that for one worker and for all that it sends.

// Sever ends the connections with some workers and forbids new ones, until a call without these
// workers. Call it after SetRoster, or when Join has returned.
func (n *Node) Sever(ranks []topology.Rank) {
	n.mu.Lock()
	r := n.roster
	n.mu.Unlock()
	ids := make(map[peer.ID]bool, len(ranks))
	for _, rank := range ranks {
		ids[r.IDs[rank]] = true
	}
	n.gate.Sever(ids)
	for id := range ids { // closing may wait for bytes on their way
		n.wg.Go(func() { _ = n.host.Network().ClosePeer(id) })
	}
}

// Throttle limits all that this peer sends to bits per second from now on; 0
// restores the limit of Options.Network. It needs Options.Throttled.
func (n *Node) Throttle(bits float64) { n.host.Throttle(bits) }
