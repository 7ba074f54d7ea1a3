package shape

import (
	"maps"
	"math"
	"slices"
	"time"

	"gossiptrainer/internal/rng"
	"gossiptrainer/topology"
)

// A Sharer is a worker's side of a network in virtual time, where messages to
// several receivers leave at once and share the rate of the uplink evenly, as
// connections do. Messages to one receiver leave one after another. T is what a
// message is to the caller.
type Sharer[T any] struct {
	net   Network
	self  topology.Rank
	up    *Server[T]
	own   map[topology.Rank]*Server[T] // of edges that do not use the uplink
	most  float64                      // bits per second of each server; 0 = as the network says
	flows map[topology.Rank]*flow[T]
}

// NewSharer returns that of worker self, with nothing sent.
func NewSharer[T any](n Network, self topology.Rank) *Sharer[T] {
	return &Sharer[T]{
		net: n, self: self, up: &Server[T]{link: n.Uplink, rate: n.Uplink.Rate},
		own: map[topology.Rank]*Server[T]{}, flows: map[topology.Rank]*flow[T]{},
	}
}

// Send sends a message of so many bytes to another worker and returns the server
// through which it leaves.
func (s *Sharer[T]) Send(to topology.Rank, now time.Duration, bytes int, what T) *Server[T] {
	server := s.server(to)
	f := s.flows[to]
	if f == nil {
		f = &flow[T]{path: Path{Seed: rng.Stream(rng.Stream(s.net.Seed, int(s.self)), int(to))}}
		s.flows[to] = f
	}
	server.send(f, now, bytes, what)
	return server
}

// Link returns what messages to that worker go through.
func (s *Sharer[T]) Link(to topology.Rank) Link { return s.server(to).link }

func (s *Sharer[T]) server(to topology.Rank) *Server[T] {
	link, ok := s.net.Links[[2]topology.Rank{min(s.self, to), max(s.self, to)}]
	if !ok {
		return s.up
	}
	if s.own[to] == nil {
		s.own[to] = &Server[T]{link: link, rate: link.Rate}
		s.own[to].limit(s.most, 0)
	}
	return s.own[to]
}

// Drop forgets the messages to another worker that have not left: their link is lost. It
// returns the server through which they would have left.
func (s *Sharer[T]) Drop(to topology.Rank, now time.Duration) *Server[T] {
	server := s.server(to)
	if f := s.flows[to]; f != nil {
		server.serve(now)
		server.drop(f)
	}
	return server
}

// Limit makes all that the worker sends leave at no more than so many bits per second from
// now on, and as fast as the network lets it for 0. It returns the servers, the uplink
// first.
func (s *Sharer[T]) Limit(bits float64, now time.Duration) []*Server[T] {
	s.most = bits
	servers := []*Server[T]{s.up}
	for _, to := range slices.Sorted(maps.Keys(s.own)) {
		servers = append(servers, s.own[to])
	}
	for _, server := range servers {
		server.limit(bits, now)
	}
	return servers
}

// A Server is where messages leave.
type Server[T any] struct {
	link  Link
	rate  float64       // of the network, which link may have less than
	at    time.Duration // when what is left of the messages was reckoned last, or the last one had left
	flows []*flow[T]    // with something to send
	left  []Departure[T]
	// Turn changes with whatever changes the answer of Next.
	Turn int
}

// A flow is the messages to one receiver.
type flow[T any] struct {
	path    Path
	waiting []message[T] // the first one is leaving
}

type message[T any] struct {
	bytes float64 // that have not left
	tail  time.Duration
	what  T
}

// A Departure is a message that has left.
type Departure[T any] struct {
	Arrives time.Duration
	What    T
}

func (s *Server[T]) send(f *flow[T], now time.Duration, bytes int, what T) {
	if s.serve(now); len(s.flows) == 0 { // what a pause has saved leaves at once
		s.at = max(s.at, now-s.burst())
	}
	total, tail := f.path.draw(s.link, bytes)
	f.waiting = append(f.waiting, message[T]{float64(total), tail, what})
	if len(f.waiting) == 1 {
		s.flows = append(s.flows, f)
	}
	s.serve(now)
	s.Turn++
}

// limit gives the server another rate, unless the network's is lower.
func (s *Server[T]) limit(bits float64, now time.Duration) {
	s.serve(now)
	s.at = max(s.at, now) // what a pause has saved was saved at another rate
	s.link.Rate = s.rate
	s.link = s.link.capped(bits)
	s.Turn++
}

// drop forgets what f has not sent.
func (s *Server[T]) drop(f *flow[T]) {
	clear(f.waiting)
	f.waiting = f.waiting[:0]
	s.flows = slices.DeleteFunc(s.flows, func(other *flow[T]) bool { return other == f })
	s.Turn++
}

func (s *Server[T]) burst() time.Duration {
	if s.link.Rate <= 0 {
		return 0
	}
	return s.link.serialise(s.link.Burst)
}

// Next returns when the next message will have left if no other is sent before.
func (s *Server[T]) Next() (at time.Duration, ok bool) {
	f := s.first()
	if f == nil {
		return 0, false
	}
	return s.at + s.needs(f), true
}

// first returns the flow whose message is the next to have left.
func (s *Server[T]) first() *flow[T] {
	var first *flow[T]
	for _, f := range s.flows {
		if first == nil || f.waiting[0].bytes < first.waiting[0].bytes {
			first = f
		}
	}
	return first
}

// needs returns how long the message of f takes at its share of the rate.
func (s *Server[T]) needs(f *flow[T]) time.Duration {
	if s.link.Rate <= 0 {
		return 0
	}
	took := f.waiting[0].bytes * 8 * float64(len(s.flows)) / s.link.Rate * float64(time.Second)
	return time.Duration(math.Round(took))
}

// Leave returns what has left by now, in its order; the slice is good until the
// next call.
func (s *Server[T]) Leave(now time.Duration) []Departure[T] {
	s.serve(now)
	left := s.left
	s.left = s.left[:0]
	return left
}

// serve lets messages leave until now.
func (s *Server[T]) serve(now time.Duration) {
	for {
		f := s.first()
		if f == nil {
			return
		}
		needs := s.needs(f)
		if s.at+needs > now {
			if s.at < now {
				s.spend(float64(now-s.at) / float64(time.Second) * s.link.Rate / 8 / float64(len(s.flows)))
				s.at = now
			}
			return
		}
		s.at += needs
		s.spend(f.waiting[0].bytes)
		s.depart(f, max(s.at, now))
	}
}

// spend takes bytes off what all flows are sending.
func (s *Server[T]) spend(bytes float64) {
	for _, f := range s.flows {
		f.waiting[0].bytes = max(0, f.waiting[0].bytes-bytes)
	}
}

// depart ends the first message of f.
func (s *Server[T]) depart(f *flow[T], left time.Duration) {
	m := f.waiting[0]
	last := copy(f.waiting, f.waiting[1:])
	f.waiting[last] = message[T]{} // lets go of it
	f.waiting = f.waiting[:last]
	f.path.last = max(f.path.last, left+m.tail)
	s.left = append(s.left, Departure[T]{f.path.last, m.what})
	s.Turn++
	if last == 0 {
		at := slices.Index(s.flows, f)
		s.flows = slices.Delete(s.flows, at, at+1)
	}
}
