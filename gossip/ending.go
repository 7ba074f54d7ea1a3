package gossip

import (
	"fmt"
	"slices"
)

// A run may end early, after a round that all workers agree on. It takes two steps. Each worker holds still and reports
// how many rounds it has begun. Then the largest of these numbers becomes the number of rounds of the run. No worker
// has begun a later round. So the run equals, bit for bit, a run of that many rounds, unless step sizes depend on the
// planned number. A worker that holds still goes on serving its neighbours.

// Hold keeps the worker from beginning another round until End, and returns the number of rounds that it has begun.
func (w *Worker) Hold() (begun int) {
	if w.phase != done {
		w.gate = 0
	}
	if w.phase == computing || w.phase == exchanging {
		return w.k + 1
	}
	return w.k
}

// End shortens the run to a number of rounds, at least as many as any worker has begun. It may take the present round
// back as long as its gradient has not come, which then must not come.
func (w *Worker) End(rounds int) error {
	switch {
	case w.failed != nil:
		return w.failed
	case rounds > w.schedule.Rounds || rounds < w.k || rounds == w.k && w.phase == exchanging:
		return fmt.Errorf("gossip: worker %d round %d: end after %d rounds of %d: the worker has begun a later round, or "+
			"the run is not that long",
			w.self, w.k, rounds, w.schedule.Rounds)
	}
	w.ended = w.ended || rounds < w.schedule.Rounds
	w.schedule.Rounds, w.gate = rounds, forever
	switch {
	case w.phase == holding:
		return w.cross()
	case rounds == w.k && w.phase == computing:
		w.unbegin()
	}
	return nil
}

// cross passes the boundary before round k.
func (w *Worker) cross() error {
	if err := succeed(w); err != nil {
		return err
	}
	if w.boundary.hook != nil {
		w.boundary.hook(w.k)
	}
	return w.begin()
}

// unbegin takes the beginning of round k back. Neighbours that have its message already drop it.
func (w *Worker) unbegin() {
	w.phase = done
	if w.mail().outbox.sent > w.slot() {
		w.mail().outbox.unsend()
		send := &w.mail().ready[0].send
		*send = slices.DeleteFunc(*send, func(f Frame) bool { return f.Kind == Data && f.Round == w.k })
	}
}

// unsend forgets the last slot. Its buffers belonged to an older slot, which is gone.
func (b *outbox) unsend() {
	b.sent, b.made = b.sent-1, b.pieces
	b.first = max(b.first, b.sent+1-b.slots)
}

// Hold ends the run of this worker with its present step, and returns the number of steps that it has begun. The
// workers share no rounds, so they need not agree on an end. Open exchanges end as usual, so that the mean of the
// models moves by the gradients alone.
func (w *PairWorker) Hold() (begun int) {
	if w.end == running {
		w.end = lastStep
	}
	_ = w.advance() // the next call returns the error that stops the machine
	if w.end >= finished {
		return w.step
	}
	return w.step + 1
}

// End does nothing: Hold alone ends the run.
func (w *PairWorker) End(int) error {
	w.Hold()
	return w.failed
}
