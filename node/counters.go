package node

import (
	"gossiptrainer/internal/record"
	"gossiptrainer/node/link"
	"gossiptrainer/topology"
)

// counters hold a node's counts since its start.
type counters struct {
	// Refused counts refused frames and peers, by reason, and links that were cut because of their
	// frames.
	Refused map[string]int64
	// Blamed counts, by neighbour and reason, those of the refused frames that came over a link.
	Blamed map[topology.Rank]map[string]int64
	// Links has the bytes of each link. Wire is 0 here over QUIC, whose connections share a socket.
	Links []link.Bytes
	// Sent and Received are the sums over all links. Their Wire counts all bytes of this host's
	// sockets (over QUIC: the payloads of its UDP packets).
	Sent, Received record.Bytes
	// Telemetry counts the received bytes of gossipsub, which are part of Received.Wire alone.
	Telemetry int64
	// Vectors counts the bytes of the start and of averages, which are part of Wire alone.
	Vectors struct{ Sent, Received int64 }
}

// counters returns the counts so far.
func (n *Node) counters() counters {
	n.mu.Lock()
	links, topic := n.links, n.topic
	n.mu.Unlock()
	c := counters{Refused: n.refused.Read(), Blamed: n.refused.blamed()}
	c.Vectors.Sent, c.Vectors.Received = n.vectors.Carried()
	if links != nil {
		c.Links = links.Carried() // first, so that their sum is at most the total
		c.Sent, c.Received = links.Bytes()
	}
	if topic != nil {
		c.Telemetry = topic.Received()
	}
	return c
}
