package gossip

import "gossiptrainer/algos"

// Together calls work for each part from 0 to parts−1, several at the same time, and returns when all calls have
// returned.
type Together func(parts int, work func(part int))

// A Parallel machine can use several cores at the same time. It starts no goroutine: its driver supplies them.
type Parallel interface {
	// Use makes the machine do work by t that needs no order. Nothing that it computes changes.
	Use(t Together)
}

var _ Parallel = (*Worker)(nil)

// Use mixes the pieces of a message by t, where several are ready. That is so after a gradient that took longer than the
// messages.
func (w *Worker) Use(t Together) { w.together = t }

// A turn is the mixing of a piece.
type turn struct {
	piece int
	saw   algos.Mixed
	err   error
}

// mixAll uses the pieces of w.turns, in this order or together.
func (w *Worker) mixAll(x *exchange) error {
	limit := w.guard.limit()
	apart := w.together == nil || len(w.turns) < 2
	if !apart {
		w.mixTogether(x, limit)
	}
	var failed error
	for i := range w.turns {
		t := &w.turns[i]
		if w.failed != nil {
			break
		}
		if apart {
			w.take(t, x, limit)
		}
		if t.err != nil {
			failed = both(failed, w.unmixed(t.piece, t.err))
			continue
		}
		w.ready[0].spent = x.mixed(t.piece, t.saw, w.ready[0].spent)
	}
	return failed
}

// take mixes one piece.
func (w *Worker) take(t *turn, x *exchange, limit float32) {
	t.saw, t.err = w.alg.mix(w.k, w.hop, t.piece, x.messages(t.piece, limit))
}

// mixTogether takes all turns at the same time.
func (w *Worker) mixTogether(x *exchange, limit float32) {
	w.together(len(w.turns), func(i int) { w.take(&w.turns[i], x, limit) })
}
