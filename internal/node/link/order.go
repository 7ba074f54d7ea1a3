package link

import (
	"sync"
	"time"
)

// An order makes the messages of a worker leave round by round, on graphs that change. There a worker can go on to the
// next round while its last message still leaves. Two messages that leave at once share the rate, so the one that a
// neighbour waits for takes twice as long. That neighbour falls behind, and in time all workers do.
type order struct {
	mu      sync.Mutex
	changed *sync.Cond
	leaving map[*link]int // the round of the message that a link writes
}

// patience bounds the wait for an older message, whose neighbour may not read.
const patience = time.Second

func newOrder() *order {
	o := &order{leaving: map[*link]int{}}
	o.changed = sync.NewCond(&o.mu)
	return o
}

// begin notes that k writes a message of a round. It waits first until no other link writes one of an earlier round, or
// until the patience or k is over.
func (o *order) begin(k *link, round int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.late(round) {
		enough := false
		timer := time.AfterFunc(patience, func() {
			o.mu.Lock()
			defer o.mu.Unlock()
			enough = true
			o.changed.Broadcast()
		})
		for !enough && o.late(round) && !k.isOver() {
			o.changed.Wait()
		}
		timer.Stop()
	}
	o.leaving[k] = round
}

// late reports whether a link writes a message of an earlier round.
func (o *order) late(round int) bool {
	for _, r := range o.leaving {
		if r < round {
			return true
		}
	}
	return false
}

// end notes that k no longer writes a message.
func (o *order) end(k *link) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.leaving, k)
	o.changed.Broadcast()
}

// wake makes waiting links look whether they are over.
func (o *order) wake() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.changed.Broadcast()
}
