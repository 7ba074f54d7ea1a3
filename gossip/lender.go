package gossip

import "gossiptrainer/topology"

// A Lender owns the memory of payloads. One goroutine calls it, others may have what it lends.
type Lender interface {
	// Get returns a buffer of n bytes with arbitrary content, nil if n is 0.
	Get(n int) []byte
	// Put takes a buffer back, which nothing uses any more. It need not come from Get.
	Put(b []byte)
}

// A Borrower is a machine that can take the buffers of its messages from its driver. With messages in the driver's
// memory the same buffers then serve for sent and for received messages.
type Borrower interface {
	// Borrow takes buffers from l from now on. The state of the machine may then lack the last message, if all receivers
	// have mixed it: a worker that comes back needs it from a log.
	Borrow(l Lender)
}

// A Logged machine need not send a message twice: a layer around it has a log of them, and sends them over a new link.
type Logged interface {
	// Log says that there is a log. It comes before the first link.
	Log()
}

var (
	_ Borrower = (*Worker)(nil)
	_ Logged   = (*Worker)(nil)
	_ Logged   = (*Linked)(nil)
)

// Log leaves it to a log to send messages again.
func (w *Worker) Log() { w.outbox.logged = true }

// Log passes the call on.
func (l *Linked) Log() {
	if m, ok := l.Machine.(Logged); ok {
		m.Log()
	}
}

// Borrow takes the buffers of messages from l, if all messages are confirmed by the next one.
func (w *Worker) Borrow(l Lender) {
	if w.plan.Lead == 1 && !w.outbox.edges.change {
		w.outbox.lender = l
	}
}

// release gives back the message of the last exchange, once this worker and all receivers have mixed it. A receiver has
// mixed it when a piece of its next message is there.
func (w *Worker) release() {
	slot := w.slot() - 1
	if w.outbox.lender == nil || slot != w.outbox.oldest() || slot >= w.outbox.sent {
		return
	}
	x := w.inbox.at(slot + 1)
	for _, r := range w.outbox.peers {
		if r.is(slot) && !x.begun(r.rank) {
			return
		}
	}
	w.outbox.release()
}

// begun reports whether a piece of a neighbour's message is there.
func (x *exchange) begun(from topology.Rank) bool {
	i := x.index(from)
	return i >= 0 && x.from[i].usable > 0
}
