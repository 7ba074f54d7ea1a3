package shape

import (
	"math"
	"slices"
	"time"

	"gossiptrainer/topology"
)

// A Sharer is a worker's side of a network in virtual time. Messages of the same order to several receivers leave at
// once and share the rate of the uplink evenly, as connections do. Those of a later order wait for them. Messages to
// one receiver leave one after another. T is the caller's type of a message.
type Sharer[T any] struct {
	net   *Network
	self  topology.Rank
	up    *Server[T]                   // nil until it is used
	own   map[topology.Rank]*Server[T] // of edges that do not use the uplink
	most  float64                      // bits per second of each server; 0 = as the network says
	flows map[topology.Rank]*flow[T]
}

// NewSharer returns the sharer of worker self on a network, which all workers share and which does not change.
func NewSharer[T any](n *Network, self topology.Rank) *Sharer[T] {
	return &Sharer[T]{net: n, self: self}
}

// Send sends a message to another worker and returns the server through which it leaves.
func (s *Sharer[T]) Send(to topology.Rank, now time.Duration, m Message[T]) *Server[T] {
	server := s.server(to)
	server.send(s.flow(to), now, m)
	return server
}

// A Message is something to send.
type Message[T any] struct {
	Bytes int
	Order int // those of the least order leave first
	What  T
}

// Link returns the link that messages to that worker use.
func (s *Sharer[T]) Link(to topology.Rank) Link {
	if s.up == nil && len(s.net.Links) == 0 {
		return s.net.Uplink
	}
	return s.server(to).link
}

// uplink returns the server of the uplink.
func (s *Sharer[T]) uplink() *Server[T] {
	if s.up == nil {
		s.up = &Server[T]{link: s.net.Uplink, rate: s.net.Uplink.Rate}
	}
	return s.up
}

func (s *Sharer[T]) server(to topology.Rank) *Server[T] {
	link, ok := s.net.Links[[2]topology.Rank{min(s.self, to), max(s.self, to)}]
	if !ok {
		return s.uplink()
	}
	if s.own[to] == nil {
		if s.own == nil {
			s.own = map[topology.Rank]*Server[T]{}
		}
		s.own[to] = &Server[T]{link: link, rate: link.Rate}
		s.own[to].limit(s.most, 0)
	}
	return s.own[to]
}

// Drop discards the unsent messages to another worker, after their link was lost. It returns
// their server.
func (s *Sharer[T]) Drop(to topology.Rank, now time.Duration) *Server[T] {
	server := s.server(to)
	if f := s.flows[to]; f != nil {
		server.serve(now)
		server.drop(f)
	}
	return server
}

// Limit caps the worker's sending rate, in bits per second, from now on. 0 leaves only the
// limits of the network. It returns the servers, the uplink first.
func (s *Sharer[T]) Limit(bits float64, now time.Duration) []*Server[T] {
	s.most = bits
	servers := s.servers()
	for _, server := range servers {
		server.limit(bits, now)
	}
	return servers
}

// A Server sends the messages of one gate.
type Server[T any] struct {
	link  Link
	rate  float64       // limit of the network; that of link may be lower
	at    time.Duration // when bytes were last updated, or when the last message had left
	flows []*flow[T]    // with something to send
	left  []Departure[T]
	// Turn changes whenever the answer of Next may change.
	Turn int
}

// A flow is the messages to one receiver.
type flow[T any] struct {
	path    Path
	waiting []message[T] // the first one is leaving
}

type message[T any] struct {
	bytes float64 // still to leave
	order int
	tail  time.Duration
	what  T
}

// A Departure is a message that has left.
type Departure[T any] struct {
	Arrives time.Duration
	What    T
}

func (s *Server[T]) send(f *flow[T], now time.Duration, m Message[T]) {
	if s.serve(now); len(s.flows) == 0 { // the burst that a pause has saved leaves at once
		s.at = max(s.at, now-s.burst())
	}
	total, tail := f.path.draw(s.link, m.Bytes)
	f.waiting = append(f.waiting, message[T]{float64(total), m.Order, tail, m.What})
	if len(f.waiting) == 1 {
		s.flows = append(s.flows, f)
	}
	s.serve(now)
	s.Turn++
}

// limit gives the server another rate, unless the network's is lower.
func (s *Server[T]) limit(bits float64, now time.Duration) {
	s.serve(now)
	s.at = max(s.at, now) // the burst was saved at another rate
	s.link.Rate = s.rate
	s.link = s.link.capped(bits)
	s.Turn++
}

// drop discards the unsent messages of f.
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

// Next returns when the next message leaves unless another is sent before.
func (s *Server[T]) Next() (at time.Duration, ok bool) {
	f, sharing := s.first()
	if f == nil {
		return 0, false
	}
	return s.at + s.needs(f, sharing), true
}

// first returns the flow whose message leaves next, and how many share the rate: those of the least order.
func (s *Server[T]) first() (first *flow[T], sharing int) {
	for _, f := range s.flows {
		switch m := &f.waiting[0]; {
		case first == nil || m.order < first.waiting[0].order:
			first, sharing = f, 1
		case m.order == first.waiting[0].order:
			sharing++
			if m.bytes < first.waiting[0].bytes {
				first = f
			}
		}
	}
	return first, sharing
}

// needs returns the time that the message of f still takes at its share of the rate.
func (s *Server[T]) needs(f *flow[T], sharing int) time.Duration {
	if s.link.Rate <= 0 {
		return 0
	}
	took := f.waiting[0].bytes * 8 * float64(sharing) / s.link.Rate * float64(time.Second)
	return time.Duration(math.Round(took))
}

// Leave returns the messages that have left by now, in order. The slice is valid until the
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
		f, sharing := s.first()
		if f == nil {
			return
		}
		needs, order := s.needs(f, sharing), f.waiting[0].order
		if s.at+needs > now {
			if s.at < now {
				s.spend(float64(now-s.at)/float64(time.Second)*s.link.Rate/8/float64(sharing), order)
				s.at = now
			}
			return
		}
		s.at += needs
		s.spend(f.waiting[0].bytes, order)
		s.depart(f, max(s.at, now))
	}
}

// spend takes bytes off what the flows of an order are sending.
func (s *Server[T]) spend(bytes float64, order int) {
	for _, f := range s.flows {
		if m := &f.waiting[0]; m.order == order {
			m.bytes = max(0, m.bytes-bytes)
		}
	}
}

// depart ends the first message of f.
func (s *Server[T]) depart(f *flow[T], left time.Duration) {
	m := f.waiting[0]
	last := copy(f.waiting, f.waiting[1:])
	f.waiting[last] = message[T]{} // releases its memory
	f.waiting = f.waiting[:last]
	f.path.last = max(f.path.last, left+m.tail)
	s.left = append(s.left, Departure[T]{f.path.last, m.what})
	s.Turn++
	if last == 0 {
		at := slices.Index(s.flows, f)
		s.flows = slices.Delete(s.flows, at, at+1)
	}
}
