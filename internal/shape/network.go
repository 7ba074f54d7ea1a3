package shape

import (
	"time"

	"gossiptrainer/internal/rng"
	"gossiptrainer/topology"
)

// A Network is the links of a run. The zero value is infinitely fast.
type Network struct {
	// Uplink is what all that a worker sends shares, whatever neighbour it goes
	// to.
	Uplink Link
	// Links replaces the uplink on single undirected edges, keyed by the
	// smaller rank first: each direction then has a gate of its own.
	Links map[[2]topology.Rank]Link
	Seed  uint64 // of jitter and loss
}

// Limited reports whether anything takes time.
func (n Network) Limited() bool { return n.Uplink.Limited() || len(n.Links) > 0 }

// A Sender is a worker's side of a network. It is not safe for concurrent use.
type Sender struct {
	net   Network
	self  topology.Rank
	up    Gate
	own   map[topology.Rank]*Gate // of edges that do not use the uplink
	most  float64                 // bits per second of each gate; 0 = as the network says
	paths map[topology.Rank]*Path
}

// NewSender returns that of worker self, with nothing sent.
func (n Network) NewSender(self topology.Rank) *Sender {
	return &Sender{net: n, self: self, own: map[topology.Rank]*Gate{}, paths: map[topology.Rank]*Path{}}
}

// Book sends bytes to another worker, or to a peer outside the graph that goes
// by any other number, and returns when the last of them has left and when it
// arrives.
func (s *Sender) Book(to topology.Rank, now time.Duration, bytes int) (left, arrives time.Duration) {
	path := s.paths[to]
	if path == nil {
		path = &Path{Seed: rng.Stream(rng.Stream(s.net.Seed, int(s.self)), int(to))}
		s.paths[to] = path
	}
	link, gate := s.way(to)
	return path.Book(link, gate, now, bytes)
}

// Promise keeps the next turn for bytes that are about to be sent to that worker
// and returns how long it is until they can begin to leave. Turns come in the
// order in which they were asked for; a promise is not a booking.
func (s *Sender) Promise(to topology.Rank, now time.Duration, bytes int) time.Duration {
	link, gate := s.way(to)
	return gate.promise(link, now, bytes)
}

// Link returns what messages to that worker go through.
func (s *Sender) Link(to topology.Rank) Link {
	link, _ := s.way(to)
	return link
}

// Limit makes all that the worker sends leave at no more than so many bits per second from
// now on, and as fast as the network lets it for 0.
func (s *Sender) Limit(bits float64) { s.most = bits }

func (s *Sender) way(to topology.Rank) (Link, *Gate) {
	link, ok := s.net.Links[[2]topology.Rank{min(s.self, to), max(s.self, to)}]
	if !ok {
		return s.net.Uplink.capped(s.most), &s.up
	}
	if s.own[to] == nil {
		s.own[to] = new(Gate)
	}
	return link.capped(s.most), s.own[to]
}
