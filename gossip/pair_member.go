package gossip

import (
	"fmt"
	"math"
	"slices"

	"gossiptrainer/algos"
	"gossiptrainer/gossip/state"
	"gossiptrainer/topology"
)

// A member of a run whose members come and go is one PairWorker for its whole life. Its rank is its id. The census has
// places, one for each member that there may be at a time. A member has the place of one that is gone, so the census
// does not grow.

// A PairPlace is that of a member of a pairwise run in the census.
type PairPlace struct {
	Own   int
	Empty []bool // by place; all have the same number of places
}

// EnterPair returns the machine of a member, which has no neighbour yet. saved has what SavePair shows of the sponsor,
// by the name machine. It is nil for a founder. The plan has as many workers as there are places.
func EnterPair(self topology.Rank, alg *algos.ADPSGD, plan PairPlan, at PairPlace, saved *state.Snapshot) (*PairWorker,
	error) {
	if plan.Rounds < 0 || self < 0 || len(at.Empty) != plan.Workers || at.Own < 0 || at.Own >= plan.Workers {
		return nil, fmt.Errorf("gossip: member %d: place %d of %d, %d rounds: need a place for each, and at least 0 rounds",
			self, at.Own, plan.Workers, plan.Rounds)
	}
	w := &PairWorker{self: self, alg: alg, plan: plan, steps: newCensus(plan.Workers, at.Own)}
	w.steps.empty = slices.Clone(at.Empty)
	if saved != nil {
		if err := saved.Load("machine", SavePair(w)); err != nil {
			return nil, fmt.Errorf("gossip: member %d: %w", self, err)
		}
	}
	w.steps.add()
	w.point = make([]float32, len(alg.X))
	w.begin()
	return w, w.advance()
}

// SavePair returns what a newcomer takes from its sponsor: the model, and the step counts that it knows.
func SavePair(w *PairWorker) state.Keeper { return (*pairStart)(w) }

type pairStart PairWorker

// State shows the model and the census.
func (s *pairStart) State(v *state.Visit) {
	v.Floats("x", s.alg.X)
	v.Counts("steps", s.steps.steps)
	state.Int(v, "given", &s.steps.given, math.MinInt32, math.MaxInt64)
}

// Seat says which places are taken from now on. The clock of the worker stays, so members that come or go give the
// others neither steps nor take them.
func Seat(w *PairWorker, empty []bool) error {
	c := &w.steps
	if slices.Equal(c.empty, empty) {
		return w.failed
	}
	before, were := c.total, c.taken
	c.empty = slices.Clone(empty)
	c.add()
	now := before * c.taken / were
	c.given, c.total = c.given+now-c.total, now
	return w.advance()
}

// Meet makes peer a neighbour that this worker may ask.
func Meet(w *PairWorker, peer topology.Rank) error {
	if p := w.peer(peer); p != nil {
		p.off = false
		return w.advance()
	}
	return w.Open(topology.Edge{Peer: peer}, 0)
}

// Shun has the worker ask a neighbour no more. It still serves a question of the other end, which does not know yet.
func Shun(w *PairWorker, peer topology.Rank) error {
	if p := w.peer(peer); p != nil {
		p.off = true
	}
	return w.advance()
}

// Suspect names all that may be dead. With these the worker begins no exchange for now.
func Suspect(w *PairWorker, all []topology.Rank) error {
	for i := range w.peers {
		w.peers[i].still = slices.Contains(all, w.peers[i].rank)
	}
	return w.advance()
}

// Part drops a neighbour that is gone, with the open exchanges, and gives its memory back.
func Part(w *PairWorker, peer topology.Rank) error {
	if w.peer(peer) == nil {
		return w.failed
	}
	if _, err := w.Cut(peer); err != nil {
		return err
	}
	partner, serving := rankOf(w.partner), rankOf(w.serving)
	w.peers = slices.Delete(w.peers, w.gone(peer), w.gone(peer)+1)
	w.partner, w.serving = w.peer(partner), w.peer(serving) // the peers have moved
	return w.failed
}

// InDoubt reports whether an exchange with peer is open, so that one end may have used it and the other not.
func InDoubt(w *PairWorker, peer topology.Rank) bool {
	p := w.peer(peer)
	return p != nil && (p.mine.state == lacking || p.theirs.state == lacking)
}

// Settled reports whether no exchange of the worker is open.
func Settled(w *PairWorker) bool {
	return !slices.ContainsFunc(w.peers, func(p pairPeer) bool { return p.unfinished() })
}

// shut reports whether the worker declines all questions.
func shut(w *PairWorker) bool { return w.end == told && !w.plan.Serve }

// PairFailure returns why a worker has stopped for good, nil while it works.
func PairFailure(w *PairWorker) error { return w.failed }

// Steps returns the number of steps that the worker has taken.
func Steps(w *PairWorker) int { return w.step }

// Told reports whether the worker has ended, and has told its neighbours.
func Told(w *PairWorker) bool { return w.end == told }
