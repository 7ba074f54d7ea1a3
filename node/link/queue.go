package link

import (
	"slices"
	"sync"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/wire"
)

// An outgoing is a frame or a sign. The payload of a bye holds the reason.
type outgoing struct {
	frame   gossip.Frame // of a sign: its hop
	mailing *mailing     // nil: no other link sends the frame, and it travels without coding
	sign    wire.Kind    // Alive or Rest; 0: a frame
}

// hopNeeded is the hop of a wire.Rest that takes another one back.
const hopNeeded = 1

// need returns the word of a wire.Rest with a hop.
func need(hop int) word {
	if hop == hopNeeded {
		return needed
	}
	return resting
}

// rest returns the sign that says whether this end needs the link.
func rest(needs bool) outgoing {
	o := outgoing{sign: wire.Rest}
	if needs {
		o.frame.Hop = hopNeeded
	}
	return o
}

// word returns the word that o says.
func (o outgoing) word() word {
	if o.sign == wire.Rest {
		return need(o.frame.Hop)
	}
	return bye
}

// open puts the header h, to which it adds the coder, into dst and returns the payload to send.
func (o outgoing) open(dst []byte, h *wire.Header) ([]byte, error) {
	if o.mailing == nil {
		return o.frame.Payload, wire.PutHeader(dst, *h, o.frame.Payload)
	}
	return o.mailing.open(dst, h)
}

// close notes that o has been sent.
func (o outgoing) close() {
	if o.mailing != nil {
		o.mailing.close()
	}
}

// size bounds the bytes that o takes on the stream: coding makes no payload longer.
func (o outgoing) size() int {
	if o.frame.Stored != nil {
		return wire.HeaderLen + o.frame.Stored.Len()
	}
	return wire.HeaderLen + len(o.frame.Payload)
}

// A queue holds the frames that wait for a link's writer. put never blocks: a machine has only the frames of a few
// exchanges under way.
//
// Requests and repairs go first, in their own order: a neighbour waits for them, and the messages before them may take
// long. All other kinds keep their order. A request or a repair concerns frames that the neighbour has already, or has
// sent, so it may overtake any.
type queue struct {
	order  *order // nil: messages need not wait for those to other neighbours
	mu     sync.Mutex
	urgent []outgoing
	items  []outgoing
	wake   chan struct{}
}

func newQueue(o *order) *queue { return &queue{order: o, wake: make(chan struct{}, 1)} }

func (q *queue) put(o outgoing) {
	q.mu.Lock()
	if o.frame.Kind == gossip.Request || o.frame.Kind == gossip.Repair {
		q.urgent = append(q.urgent, o)
	} else {
		q.items = append(q.items, o)
	}
	q.mu.Unlock()
	q.rouse()
}

// rouse makes take look again.
func (q *queue) rouse() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// sent notes that all frames handed out so far have left, or never will.
func (q *queue) sent() {
	if q.order != nil {
		q.order.end(q)
	}
}

// lastWords is how long the frames before a last one may take.
const lastWords = 400 * time.Millisecond

// last puts a bye that nothing follows. A neighbour needs the frames before it to end its round, so they have some time
// to leave. Those that still wait then are dropped.
func (q *queue) last(bye outgoing) {
	q.put(bye)
	time.AfterFunc(lastWords, func() {
		q.mu.Lock()
		at := slices.IndexFunc(q.items, func(o outgoing) bool { return o.frame.Kind == gossip.Bye })
		if at >= 0 {
			q.items = slices.Delete(q.items, 0, at)
			clear(q.urgent)
			q.urgent = q.urgent[:0]
		}
		q.mu.Unlock()
		q.rouse()
	})
}

// take waits for the next frame, or until over is closed. When idle ticks and no frame waits, it returns a sign of
// life.
func (q *queue) take(over <-chan struct{}, idle <-chan time.Time) (o outgoing, ok bool) {
	for {
		if o, ok := q.next(int(^uint(0) >> 1)); ok {
			return o, true
		}
		select {
		case <-q.wake:
		case <-idle:
			return outgoing{sign: wire.Alive}, true
		case <-over:
			return outgoing{}, false
		}
	}
}

// next returns the first waiting frame if it takes at most room bytes and may leave now.
func (q *queue) next(room int) (o outgoing, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	from := &q.urgent
	if len(*from) == 0 {
		from = &q.items
	}
	if len(*from) == 0 || (*from)[0].size() > room {
		return outgoing{}, false
	}
	o = (*from)[0]
	if q.order != nil && o.sign == 0 && o.frame.Kind == gossip.Data && !q.order.begin(q, o.frame.Round) {
		return outgoing{}, false
	}
	*from = slices.Delete(*from, 0, 1) // releases the payload
	return o, true
}
