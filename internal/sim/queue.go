package sim

import (
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/topology"
)

// An event is something that happens to one worker at a virtual time: a frame
// arrives, one may have left a server or, where both are nil, its gradient is
// ready.
type event struct {
	at     time.Duration
	seq    uint64 // order of creation: ties are broken the same way every time
	worker topology.Rank
	frame  *flight
	stream int // bytes of the frame on the stream
	wire   int // and at the socket
	server *server
	turn   int // of the server, when that was expected; or the life of the worker whose gradient it is
}

// A flight is a frame that is under way.
type flight struct {
	gossip.Frame
	link int // number of the link that it was sent on, under a script
}

func (e event) before(o event) bool {
	return e.at < o.at || e.at == o.at && e.seq < o.seq
}

// A queue is a binary heap of events, earliest first.
type queue []event

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
