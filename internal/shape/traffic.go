package shape

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"gossiptrainer/internal/rng"
	"gossiptrainer/topology"
)

// A Traffic is the state of a Sharer at a moment: the messages that have not left, and the places of all receivers in
// the random numbers of their links. It holds the rate of Limit alone: others follow from the network. W is the form of
// a message in a file.
type Traffic[W any] struct {
	Servers []Served  `json:"servers"`        // the uplink first, then those of links that do not use it, by receiver
	Flows   []Sent[W] `json:"flows"`          // by receiver
	Most    float64   `json:"most,omitempty"` // see Limit
}

// A Served is the state of a Server.
type Served struct {
	To    topology.Rank   `json:"to"` // of a link that does not use the uplink
	At    time.Duration   `json:"at_ns"`
	Turn  int             `json:"turn"`
	Order []topology.Rank `json:"order,omitempty"` // of the receivers that still get something
}

// A Sent is the state of the messages to one receiver.
type Sent[W any] struct {
	To      topology.Rank `json:"to"`
	Packets int           `json:"packets"` // so far
	Last    time.Duration `json:"last_ns"` // when the last one arrives
	Waiting []Leaving[W]  `json:"waiting,omitempty"`
}

// A Leaving is a message that has not left.
type Leaving[W any] struct {
	Bytes float64       `json:"bytes"` // still to leave
	Order int           `json:"order,omitempty"`
	Tail  time.Duration `json:"tail_ns"`
	What  W             `json:"what"`
}

// Save returns the state of s, with the messages as write returns them.
func Save[T, W any](s *Sharer[T], write func(T) W) Traffic[W] {
	receiver := map[*flow[T]]topology.Rank{}
	t := Traffic[W]{Most: s.most}
	for _, to := range slices.Sorted(maps.Keys(s.flows)) {
		f := s.flows[to]
		receiver[f] = to
		sent := Sent[W]{To: to, Packets: f.path.packets, Last: f.path.last}
		for _, m := range f.waiting {
			sent.Waiting = append(sent.Waiting, Leaving[W]{m.bytes, m.order, m.tail, write(m.what)})
		}
		t.Flows = append(t.Flows, sent)
	}
	for i, server := range s.servers() {
		served := Served{At: server.at, Turn: server.Turn}
		if i > 0 {
			served.To = s.receivers()[i-1]
		}
		for _, f := range server.flows {
			served.Order = append(served.Order, receiver[f])
		}
		t.Servers = append(t.Servers, served)
	}
	return t
}

// Restore gives s, a new sharer of the same worker and network, the state t.
func Restore[T, W any](s *Sharer[T], t Traffic[W], read func(W) (T, error)) error {
	s.most = t.Most
	s.uplink().limit(t.Most, 0)
	for _, sent := range t.Flows {
		f := s.flow(sent.To)
		f.path.packets, f.path.last = sent.Packets, sent.Last
		for _, m := range sent.Waiting {
			what, err := read(m.What)
			if err != nil {
				return err
			}
			f.waiting = append(f.waiting, message[T]{m.Bytes, m.Order, m.Tail, what})
		}
	}
	for i, served := range t.Servers {
		server := s.uplink()
		if i > 0 {
			if server = s.server(served.To); server == s.up {
				return fmt.Errorf("shape: worker %d: its link to worker %d uses the uplink", s.self, served.To)
			}
		}
		server.at, server.Turn = served.At, served.Turn
		for _, to := range served.Order {
			f := s.flows[to]
			if f == nil || len(f.waiting) == 0 || s.server(to) != server {
				return fmt.Errorf("shape: worker %d: nothing leaves for worker %d", s.self, to)
			}
			server.flows = append(server.flows, f)
		}
	}
	return nil
}

// Number returns the number of a server of s: 0 is the uplink, j+1 that of a link to worker j of its own.
func (s *Sharer[T]) Number(server *Server[T]) int {
	for to, own := range s.own {
		if own == server {
			return int(to) + 1
		}
	}
	return 0
}

// Numbered returns the server of a number, nil if s has none.
func (s *Sharer[T]) Numbered(number int) *Server[T] {
	if number == 0 {
		return s.uplink()
	}
	return s.own[topology.Rank(number-1)]
}

// servers returns the servers, the uplink first.
func (s *Sharer[T]) servers() []*Server[T] {
	all := []*Server[T]{s.uplink()}
	for _, to := range s.receivers() {
		all = append(all, s.own[to])
	}
	return all
}

// receivers returns the workers to which links lead that do not use the uplink, in increasing rank.
func (s *Sharer[T]) receivers() []topology.Rank { return slices.Sorted(maps.Keys(s.own)) }

// flow returns the messages to a receiver.
func (s *Sharer[T]) flow(to topology.Rank) *flow[T] {
	f := s.flows[to]
	if f == nil {
		f = &flow[T]{path: Path{Seed: rng.Stream(rng.Stream(s.net.Seed, int(s.self)), int(to))}}
		if s.flows == nil {
			s.flows = map[topology.Rank]*flow[T]{}
		}
		s.flows[to] = f
	}
	return f
}
