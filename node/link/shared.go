package link

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"

	"gossiptrainer/internal/record"
	"gossiptrainer/internal/wire"
	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/internal/wire/still"
	"gossiptrainer/node/handshake"
	"gossiptrainer/topology"
)

// shared is the common part of all links of a worker.
type shared struct {
	Config
	place, durable atomic.Int64 // sent in the hello
	events         chan Event
	pool           pool
	mail           *mailroom
	order          *order // nil: the graph does not change
	ctx            context.Context
	cancel         context.CancelFunc
	wg             sync.WaitGroup
}

// hello returns the current hello of this peer.
func (s *shared) hello() handshake.Hello {
	h := s.Hello
	h.Round, h.Durable = int(s.place.Load()), int(s.durable.Load())
	return h
}

// emit delivers an event, or gives up when the links are closed.
func (s *shared) emit(e Event) {
	select {
	case s.events <- e:
	case <-s.ctx.Done():
	}
}

// unused counts a frame that was refused with err, and returns err.
func (s *shared) unused(err error) error {
	s.Refused.Count(Reason(err))
	return err
}

// hangUp closes a connection in another goroutine: its last bytes may take seconds.
func (s *shared) hangUp(c network.Conn) { s.wg.Go(func() { c.Close() }) }

// A neighbour is the other end of an edge, with the traffic between.
type neighbour struct {
	*shared
	rank           topology.Rank
	id             peer.ID
	sent, received traffic
	turn           turn
}

// traffic counts the frames of an edge in one direction.
type traffic struct {
	record.Tally
	pace pace
}

// count adds a frame and the bytes of its payload on the stream. Parts that have not changed since the start are no
// part of the payload.
func (c *traffic) count(h wire.Header, payload, streamed int) {
	switch {
	case h.Kind != wire.Data:
		payload = 0
	case h.Coder == still.Coder:
		payload = streamed
	}
	c.Add(payload, wire.HeaderLen+streamed, h.Piece)
}

// carried returns the traffic of the edge.
func (n *neighbour) carried() Bytes {
	below := n.Host.Carried(n.id)
	b := Bytes{Peer: n.rank, Sent: n.sent.Bytes(), Received: n.received.Bytes()}
	b.Sent.Wire, b.Received.Wire = below.Sent, below.Received
	return b
}

// cost returns the cost of a byte to the neighbour.
func (n *neighbour) cost() entropy.LinkCost {
	return linkCost(n.Host.Rate(n.id), &n.sent.pace, &n.received.pace)
}
