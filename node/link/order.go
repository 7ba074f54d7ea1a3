package link

import (
	"sync"
	"time"
)

// An order makes the messages of a worker leave round by round, on graphs that change. There a worker can go on to the
// next round while its last message still leaves. Two messages that leave at once share the rate, so the one that a
// neighbour waits for takes twice as long. That neighbour falls behind, and in time all workers do. A message that
// waits stays in its queue, so that requests and repairs overtake it.
type order struct {
	mu      sync.Mutex
	leaving map[*queue]int       // the round of the message that a link writes
	waiting map[*queue]time.Time // since when the next message of a link waits
}

// patience bounds the wait for an older message, whose neighbour may not read. A writer looks at it with each sign of
// life.
const patience = time.Second

func newOrder() *order { return &order{leaving: map[*queue]int{}, waiting: map[*queue]time.Time{}} }

// begin reports whether q may hand out its next message, which is of a round. The message waits for those of earlier
// rounds, and q wakes when that may have changed.
func (o *order) begin(q *queue, round int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	since, waits := o.waiting[q]
	if o.late(q, round) && (!waits || time.Since(since) < patience) {
		if !waits {
			o.waiting[q] = time.Now()
		}
		return false
	}
	delete(o.waiting, q)
	if _, writes := o.leaving[q]; !writes { // frames that travel together keep their order
		o.leaving[q] = round
	}
	return true
}

// late reports whether another link writes a message of an earlier round.
func (o *order) late(q *queue, round int) bool {
	for other, r := range o.leaving {
		if other != q && r < round {
			return true
		}
	}
	return false
}

// end notes that the link of q writes nothing, and wakes those that wait.
func (o *order) end(q *queue) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.leaving, q)
	delete(o.waiting, q)
	for other := range o.waiting {
		other.rouse()
	}
}
