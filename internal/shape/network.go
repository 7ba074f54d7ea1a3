package shape

import (
	"time"

	"gossiptrainer/internal/rng"
	"gossiptrainer/topology"
)

// A Network is the links of a run. The zero value is infinitely fast.
type Network struct {
	// Uplink limits everything that a worker sends, over all its neighbours.
	Uplink Link
	// Links replaces the uplink on single undirected edges. The smaller rank comes first in
	// the key. Each direction of such an edge has its own gate.
	Links map[[2]topology.Rank]Link
	Seed  uint64 // of jitter and loss
}

// Limited reports whether anything takes time.
func (n Network) Limited() bool { return n.Uplink.Limited() || len(n.Links) > 0 }

// Steady reports whether every message arrives when it is sent and the latency of the uplink is over: nothing waits for
// other messages or for chance.
func (n Network) Steady() bool {
	up := n.Uplink
	return len(n.Links) == 0 && up.Rate <= 0 && up.Jitter == 0 && up.Loss == 0
}

// A Sender is a worker's side of a network. It is not safe for concurrent use.
type Sender struct {
	net   Network
	self  topology.Rank
	up    Gate
	own   map[topology.Rank]*Gate // of edges that do not use the uplink
	most  float64                 // bits per second of each gate; 0 = as the network says
	paths map[topology.Rank]*Path
}

// NewSender returns the sender of worker self.
func (n Network) NewSender(self topology.Rank) *Sender {
	return &Sender{net: n, self: self, own: map[topology.Rank]*Gate{}, paths: map[topology.Rank]*Path{}}
}

// Book sends bytes to another worker. It returns when the last byte leaves and when it
// arrives. A peer outside the graph may have any number that no worker has.
func (s *Sender) Book(to topology.Rank, now time.Duration, bytes int) (left, arrives time.Duration) {
	path := s.paths[to]
	if path == nil {
		path = &Path{Seed: rng.Stream(rng.Stream(s.net.Seed, int(s.self)), int(to))}
		s.paths[to] = path
	}
	link, gate := s.way(to)
	return path.Book(link, gate, now, bytes)
}

// Promise reserves the next turn for bytes that a caller is about to send to a worker. It
// returns the time until they can begin to leave. Turns come in the order of the requests.
// The caller must still book the bytes.
func (s *Sender) Promise(to topology.Rank, now time.Duration, bytes int) time.Duration {
	link, gate := s.way(to)
	return gate.promise(link, now, bytes)
}

// Link returns the link that messages to that worker use.
func (s *Sender) Link(to topology.Rank) Link {
	link, _ := s.way(to)
	return link
}

// Limit caps the worker's sending rate, in bits per second, from now on. 0 leaves only the
// limits of the network.
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
