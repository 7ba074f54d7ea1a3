package node

import (
	"gossiptrainer/internal/node/link"
	"gossiptrainer/internal/record"
	"gossiptrainer/topology"
)

// Counters are what a node has seen since it started.
type Counters struct {
	// Refused counts frames and peers that were turned away, by reason, and
	// links that were lost for what came over them.
	Refused map[string]int64
	// Blamed counts the frames among them by who has sent them, as far as they came
	// over a link: by neighbour and reason.
	Blamed map[topology.Rank]map[string]int64
	// Links has the bytes of each link. Over QUIC, whose connections share a
	// socket, Wire is 0 here.
	Links []LinkBytes
	// Sent and Received are those of all links; their Wire is all that passed
	// this host's sockets (over QUIC: the payloads of its UDP packets).
	Sent, Received record.Bytes
	// Telemetry is how many bytes of gossipsub came in; they are part of
	// Received.Wire alone.
	Telemetry int64
}

// LinkBytes counts the bytes exchanged with one neighbour.
type LinkBytes = link.Bytes

// Counters returns what has been counted so far.
func (n *Node) Counters() Counters {
	n.mu.Lock()
	links, topic := n.links, n.topic
	n.mu.Unlock()
	c := Counters{Refused: n.refused.Read(), Blamed: n.refused.blamed()}
	if links != nil {
		c.Links = links.Carried() // first, so that their sum is at most the total
		c.Sent, c.Received = links.Bytes()
	}
	if topic != nil {
		c.Telemetry = topic.Received()
	}
	return c
}
