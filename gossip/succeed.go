package gossip

import (
	"fmt"
	"slices"
)

// A run may go on with another vector: a program that trains part of a model may begin to train the rest. All workers
// decide it in the same round, and the algorithm begins again from the models that they have by then. The rounds, the
// graph and the numbers of the exchanges go on.

// Succession returns the first round that can begin with another vector where all workers learn in round k, before its
// gradient comes, that it will. A neighbour may be Lead exchanges ahead, so no message of that round comes before.
func (s Slots) Succession(k int) int {
	if s.Hops == 0 {
		return (k/s.Every + 1) * s.Every
	}
	return ((s.Of(k, 0)+s.Lead)/s.Hops + 1) * s.Every
}

// Succeed has the worker go on, from round at on, with the algorithm of the worker that next makes of the model of that
// moment. That worker has the same rows and schedule, and is an Heir. It fails if round at has begun, messages travel
// in pieces, or the bits change from round to round.
func Succeed(w *Worker, at int, next func(x []float32) (*Worker, error)) error {
	switch {
	case w.failed != nil:
		return w.failed
	case at <= w.k:
		return fmt.Errorf("gossip: worker %d round %d: another vector from round %d on: that has begun", w.self, w.k, at)
	case w.alg.pieces > w.alg.perHop:
		return fmt.Errorf("gossip: worker %d: the vector cannot change where messages travel in %d pieces: join with all "+
			"that will train", w.self, w.alg.pieces)
	case w.schedule.Agreed != nil:
		return fmt.Errorf("gossip: worker %d: the vector cannot change while a controller chooses the bits: join with all "+
			"that will train", w.self)
	}
	if w.boundary.heir == nil {
		w.boundary.heir = new(heir)
	}
	w.boundary.at, w.boundary.next = at, next
	return nil
}

// A boundary is what happens between two rounds.
type boundary struct {
	hook  func(k int) // called before round k; may be nil
	*heir             // nil: there never was one
}

// An heir makes the worker whose algorithm takes over.
type heir struct {
	at     int                                // before this round
	next   func(x []float32) (*Worker, error) // nil: none takes over
	since  int                                // round from which the present algorithm makes messages
	former rule                               // before; neighbours may still ask for repairs
}

// rule returns the one that made the messages of a round; now is the present one.
func (h *heir) rule(round int, now *rule) *rule {
	if h != nil && round < h.since {
		return &h.former
	}
	return now
}

// succeed takes the algorithm of the heir, if it is due before the present round.
func succeed(w *Worker) error {
	if w.boundary.heir == nil || w.boundary.next == nil || w.boundary.at != w.k {
		return nil
	}
	other, err := w.boundary.next(slices.Clone(w.alg.Params()))
	w.boundary.next = nil
	if err == nil && (other.plan != w.plan || other.alg.pieces != w.alg.pieces || other.alg.perHop != w.alg.perHop) {
		err = fmt.Errorf("the new vector has other exchanges: %+v in %d pieces, and before %+v", other.plan,
			other.alg.pieces, w.plan)
	}
	if err != nil {
		return w.fail(fmt.Errorf("gossip: worker %d round %d: go on with another vector: %w", w.self, w.k, err))
	}
	w.boundary.since, w.boundary.former = w.k, w.alg
	w.alg, w.mail().outbox.size = other.alg, 0
	return nil
}
