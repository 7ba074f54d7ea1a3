package gossip

import (
	"fmt"
	"slices"
)

// A run may end before its rounds are over, with a round that all workers have. Two
// steps lead there: each worker holds still and says how many rounds it has begun, and
// the largest of these numbers becomes that of the run. Nobody has begun a round beyond
// it, so the run is one of that many rounds, bit for bit, where step sizes do not look
// ahead. A worker that holds still serves the others as ever.

// Hold keeps the worker from beginning another round until End, and returns how many
// it has begun.
func (w *Worker) Hold() (begun int) {
	w.held = w.phase != done
	if w.phase == computing || w.phase == exchanging {
		return w.k + 1
	}
	return w.k
}

// End makes the run one of fewer rounds, at least as many as any worker has begun. A
// round of which Ready has told nothing may be the first beyond.
func (w *Worker) End(rounds int) error {
	fresh := w.phase == computing && !w.asked
	switch {
	case w.failed != nil:
		return w.failed
	case rounds > w.schedule.Rounds || rounds < w.k || rounds == w.k && !fresh &&
		(w.phase == computing || w.phase == exchanging):
		return fmt.Errorf("gossip: worker %d round %d: end after %d rounds of %d: others are begun, or too few are left",
			w.self, w.k, rounds, w.schedule.Rounds)
	}
	w.ended = w.ended || rounds < w.schedule.Rounds
	w.schedule.Rounds, w.held = rounds, false
	switch {
	case w.phase == holding:
		return w.cross()
	case rounds == w.k && fresh:
		w.unbegin()
	}
	return nil
}

// cross goes over the boundary before round k.
func (w *Worker) cross() error {
	if w.boundary != nil {
		w.boundary(w.k)
	}
	return w.begin()
}

// unbegin takes the beginning of round k back, of which nobody knows.
func (w *Worker) unbegin() {
	w.phase = done
	if w.outbox.sent > w.slot() {
		w.outbox.unsend()
		send := &w.ready[0].send
		*send = slices.DeleteFunc(*send, func(f Frame) bool { return f.Kind == Data && f.Round == w.k })
	}
}

// unsend forgets the last slot. Its buffer was that of an older one, which is gone.
func (b *outbox) unsend() {
	b.sent--
	b.first = max(b.first, b.sent+1-len(b.kept))
}

// Hold ends the run of this worker with the step it is in, and returns how many it has
// begun: without rounds that workers share there is nothing to agree on. Exchanges that
// are open end as ever, so that the mean of the models moves by the gradients alone.
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

// End does nothing that Hold has not done.
func (w *PairWorker) End(int) error {
	w.Hold()
	return w.failed
}
