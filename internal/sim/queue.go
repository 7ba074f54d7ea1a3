package sim

import (
	"cmp"
	"math/bits"
	"slices"
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
	server *server
	turn   int // of the server when the event was scheduled; of a gradient the number of its process
}

// A flight is a frame on its way.
type flight struct {
	gossip.Frame
	stream int     // bytes on the stream
	wire   int     // bytes on the wire
	link   int     // number of the link on which it was sent, under a script
	ahead  *flight // travels in the same message, before this one
}

// A server shares an uplink or a link among the frames of a worker.
type server = shape.Server[*flight]

// before reports whether an event happens before another one.
func (e event) before(o event) bool {
	return e.at < o.at || e.at == o.at && e.seq < o.seq
}

// A queue holds events, none before the last one that was taken. It is a radix heap (Ahuja, Mehlhorn, Orlin and Tarjan,
// "Faster algorithms for the shortest path problem", 1990). An event moves to a lower bucket as its time comes closer,
// and many events of one time move at once. Events of one time keep the order in which they were added.
type queue struct {
	now     time.Duration // of the last event taken
	buckets [64][]event   // by the highest bit in which the time of an event differs from now; 0: at that time
	taken   int           // events of bucket 0 that were taken
	n       int
	least   *event    // the first event, nil if it is not known
	free    [][]event // memory of empty buckets
}

// size returns the number of events.
func (q *queue) size() int { return q.n }

// push adds an event, which is not before the last one taken.
func (q *queue) push(e event) {
	q.n++
	if q.least != nil && e.at < q.least.at {
		q.least = nil
	}
	q.add(e)
}

func (q *queue) add(e event) {
	b := &q.buckets[bits.Len64(uint64(e.at^q.now))]
	if last := len(q.free) - 1; *b == nil && last >= 0 {
		*b, q.free = q.free[last], q.free[:last]
	}
	*b = append(*b, e)
}

// expect makes room for n events that are about to be added, most of them of one time.
func (q *queue) expect(n int) {
	if last := len(q.free) - 1; last < 0 || cap(q.free[last]) < n {
		q.free = append(q.free, make([]event, 0, n))
	}
}

// first returns the earliest event. The queue is not empty.
func (q *queue) first() *event {
	if q.taken < len(q.buckets[0]) {
		return &q.buckets[0][q.taken]
	}
	if q.least == nil {
		b := q.buckets[q.lowest()]
		q.least = &b[0]
		for i := range b {
			if b[i].at < q.least.at {
				q.least = &b[i]
			}
		}
	}
	return q.least
}

// lowest returns the first bucket with an event, beyond bucket 0.
func (q *queue) lowest() int {
	b := 1
	for len(q.buckets[b]) == 0 {
		b++
	}
	return b
}

// advance moves the earliest events to bucket 0. The queue is not empty.
func (q *queue) advance() {
	if q.taken < len(q.buckets[0]) {
		return
	}
	q.now, q.least = q.first().at, nil
	q.recycle(0)
	from := q.lowest()
	events := q.buckets[from]
	q.buckets[from] = nil
	for _, e := range events {
		q.add(e)
	}
	q.free = append(q.free, emptied(events))
}

// recycle keeps the memory of a bucket whose events were taken.
func (q *queue) recycle(b int) {
	if q.buckets[b] != nil {
		q.free = append(q.free, emptied(q.buckets[b]))
	}
	q.buckets[b], q.taken = nil, 0
}

// emptied returns the memory of events, so that it keeps no frame alive.
func emptied(events []event) []event {
	clear(events)
	return events[:0]
}

// pop removes the earliest event and returns it. The queue is not empty.
func (q *queue) pop() event {
	q.advance()
	e := q.buckets[0][q.taken]
	q.taken++
	q.n--
	return e
}

// batch removes all events of the earliest time and returns them in order. The queue is not empty. The caller gives the
// slice back, see reuse.
func (q *queue) batch() []event {
	q.advance()
	all := q.buckets[0][q.taken:]
	q.buckets[0], q.taken = nil, 0
	q.n -= len(all)
	return all
}

// sorted returns the events in order.
func (q *queue) sorted() []event {
	all := slices.Clone(q.buckets[0][q.taken:])
	for _, b := range q.buckets[1:] {
		all = append(all, b...)
	}
	slices.SortFunc(all, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.seq, b.seq))
	})
	return all
}

// reuse takes back the memory of a batch.
func (q *queue) reuse(batch []event) { q.free = append(q.free, emptied(batch)) }
