package link

import (
	"sync"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/wire/entropy"
)

// An outgoing is a frame or a sign of life. The payload of a bye holds the reason.
type outgoing struct {
	frame   gossip.Frame
	mailing *mailing // nil: the payload is sent without coding
	message uint64   // its number in the header cache
	alive   bool     // a sign of life
}

// open returns the payload to send and its coder.
func (o outgoing) open() ([]byte, entropy.Coder) {
	if o.mailing == nil {
		return o.frame.Payload, entropy.Plain
	}
	return o.mailing.open()
}

// close notes that o has been sent.
func (o outgoing) close() {
	if o.mailing != nil {
		o.mailing.close()
	}
}

// A queue holds the frames that wait for a link's writer. put never blocks: a machine has only the
// frames of a few exchanges under way.
type queue struct {
	mu    sync.Mutex
	items []outgoing
	wake  chan struct{}
}

func newQueue() *queue { return &queue{wake: make(chan struct{}, 1)} }

func (q *queue) put(o outgoing) {
	q.mu.Lock()
	q.items = append(q.items, o)
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// only replaces all waiting frames by o.
func (q *queue) only(o outgoing) {
	q.mu.Lock()
	clear(q.items)
	q.items = q.items[:0]
	q.mu.Unlock()
	q.put(o)
}

// take waits for the next frame, or until over is closed. When idle ticks and no frame waits, it
// returns a sign of life.
func (q *queue) take(over <-chan struct{}, idle <-chan time.Time) (o outgoing, ok bool) {
	for {
		if o, ok := q.first(); ok {
			return o, true
		}
		select {
		case <-q.wake:
		case <-idle:
			return outgoing{alive: true}, true
		case <-over:
			return outgoing{}, false
		}
	}
}

func (q *queue) first() (outgoing, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.items) == 0 {
		return outgoing{}, false
	}
	o := q.items[0]
	n := copy(q.items, q.items[1:])
	q.items[n] = outgoing{} // releases the payload
	q.items = q.items[:n]
	return o, true
}

// A pool keeps the buffers of received frames that have been used.
type pool struct {
	mu   sync.Mutex
	free [][]byte
}

// get returns a buffer of n bytes with arbitrary content.
func (p *pool) get(n int) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.free) - 1; i >= 0; i-- {
		if b := p.free[i]; cap(b) >= n {
			last := len(p.free) - 1
			p.free[i], p.free[last] = p.free[last], nil
			p.free = p.free[:last]
			return b[:n]
		}
	}
	return make([]byte, n)
}

// poolRoom bounds the free buffers: more come only from frames that were never used.
const poolRoom = 256

func (p *pool) put(b []byte) {
	if cap(b) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free) < poolRoom {
		p.free = append(p.free, b)
	}
}
