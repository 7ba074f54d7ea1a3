package sim

import (
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/shape"
	"gossiptrainer/topology"
)

// An event happens to one worker at a virtual time: a frame arrives, or a frame may have left a server. If both fields
// are nil, the worker's gradient is ready.
type event struct {
	at     time.Duration
	seq    uint64 // order of creation, which breaks ties
	worker topology.Rank
	frame  *flight
	stream int // bytes of the frame on the stream
	wire   int // bytes of the frame at the socket
	server *server
	turn   int // of the server when the event was scheduled; of a gradient the number of its process
}

// A flight is a frame on its way.
type flight struct {
	gossip.Frame
	link int // number of the link on which it was sent, under a script
}

// A server shares an uplink or a link among the frames of a worker.
type server = shape.Server[event]

// before reports whether an event happens before another one.
func (e event) before(o event) bool {
	return e.at < o.at || e.at == o.at && e.seq < o.seq
}

// A queue is a binary heap of events, the earliest first.
type queue []event

// push adds an event.
func (q *queue) push(e event) {
	h := append(*q, e)
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if !h[i].before(h[up]) {
			break
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
	*q = h
}

// pop removes the earliest event and returns it. The queue is not empty.
func (q *queue) pop() event {
	h := *q
	first, last := h[0], len(h)-1
	h[0] = h[last]
	h[last] = event{}
	h = h[:last]
	for i := 0; ; {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(h); c++ {
			if h[c].before(h[least]) {
				least = c
			}
		}
		if least == i {
			break
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
	*q = h
	return first
}
