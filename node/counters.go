package node

import (
	"maps"
	"sync"

	"gossiptrainer/internal/record"
	"gossiptrainer/node/link"
	"gossiptrainer/node/socket"
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

// refusals count frames and peers that were turned away, and frames by the neighbour that sent them.
type refusals struct {
	socket.Refusals
	mu sync.Mutex
	of map[topology.Rank]map[string]int64 // frames, by neighbour and reason
}

// frame counts a frame that was not used for err, and returns err.
func (r *refusals) frame(err error) error {
	r.Count(link.Reason(err))
	return err
}

// blame counts against a neighbour what has been counted by itself.
func (r *refusals) blame(rank topology.Rank, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil {
		r.of = make(map[topology.Rank]map[string]int64)
	}
	if r.of[rank] == nil {
		r.of[rank] = make(map[string]int64)
	}
	r.of[rank][reason]++
}

// blamed returns what is counted against neighbours.
func (r *refusals) blamed() map[topology.Rank]map[string]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make(map[topology.Rank]map[string]int64, len(r.of))
	for rank, by := range r.of {
		all[rank] = maps.Clone(by)
	}
	return all
}

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
