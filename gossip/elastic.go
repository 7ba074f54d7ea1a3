package gossip

import (
	"fmt"

	"gossiptrainer/topology"
)

// An Elastic machine goes on when it loses neighbours. The weight of an edge that is off is added to the diagonal of W
// at both ends. An algorithm that moves by Σ_j W_ij (x̂_j − x̂_i) needs no notice: it leaves out a term. So W stays
// symmetric and doubly stochastic in every exchange, as long as both ends of each edge agree on its state.
//
// An exchange with a mixed piece cannot lose an edge. So a machine that may be cut mixes nothing of an exchange
// before all of it is there.
//
// Exchanges are numbered as in Frame: ⌊round/H⌋ where one of H rounds exchanges.
type Elastic interface {
	Machine
	// Whole makes the machine mix an exchange only when all its messages are there. It comes before the first frame.
	Whole()
	// Next returns the first exchange that the worker has sent nothing of.
	Next() int
	// Cut takes the edge to peer off from the first exchange whose message has not arrived. It returns that exchange,
	// which is at most Plan.Lead + 1 after the one in progress. An edge that is off stays so. The link to peer must be
	// down.
	Cut(peer topology.Rank) (exchange int, err error)
	// Open adds an edge from an exchange on, which is Next or later. An error changes nothing.
	Open(e topology.Edge, exchange int) error
	// Close takes the edge to peer off from an exchange on, or from the next possible one if that is past. The other end
	// does the same.
	Close(peer topology.Rank, exchange int) error
}

var _ Elastic = (*Worker)(nil)

// Whole makes the worker wait for whole exchanges.
func (w *Worker) Whole() { w.whole = true }

// Next returns the first exchange that the worker has sent nothing of.
func (w *Worker) Next() int { return w.mail().outbox.sent }

// Cut takes the edge to peer off and goes on without it.
func (w *Worker) Cut(peer topology.Rank) (exchange int, err error) {
	if w.failed != nil {
		return 0, w.failed
	}
	s := w.mail().inbox.span(peer)
	switch {
	case s == nil:
		return 0, fmt.Errorf("gossip: worker %d round %d: cut: %w: %d", w.self, w.k, ErrStranger, peer)
	case s.until <= max(s.from, w.slot()):
		return s.until, nil
	}
	if left := w.mail().inbox.at(w.slot()).left; left < w.alg.pieces {
		return 0, fmt.Errorf("gossip: worker %d round %d: cut the edge to worker %d: %d of %d pieces of the exchange are "+
			"mixed: call Whole before the first frame", w.self, w.k, peer, w.alg.pieces-left, w.alg.pieces)
	}
	slot, spent := w.mail().inbox.cut(s, w.slot(), w.mail().ready[0].spent)
	w.mail().ready[0].spent = spent
	return slot, w.off(peer, slot)
}

// Close takes the edge to peer off from an exchange on.
func (w *Worker) Close(peer topology.Rank, exchange int) error {
	s := w.mail().inbox.span(peer)
	switch {
	case w.failed != nil:
		return w.failed
	case s == nil || s.until <= max(s.from, w.slot()):
		return fmt.Errorf("gossip: worker %d round %d: close the edge to worker %d from exchange %d: it is off",
			w.self, w.k, peer, exchange)
	}
	first := w.slot()
	if w.mail().inbox.at(first).left < w.alg.pieces {
		first++ // an exchange that has begun to be mixed keeps its edges
	}
	exchange = max(exchange, first)
	w.mail().ready[0].spent = w.mail().inbox.end(s, exchange, w.slot(), w.mail().ready[0].spent)
	return w.off(peer, exchange)
}

// off stops messages to peer from a slot on. The worker then goes on if no other message is missing.
func (w *Worker) off(peer topology.Rank, slot int) error {
	if i := w.mail().outbox.index(peer); i >= 0 {
		w.mail().outbox.peers[i].until = slot
	}
	return w.exchange(0, w.alg.pieces)
}

// Open adds the edge e from an exchange on.
func (w *Worker) Open(e topology.Edge, exchange int) error {
	s := w.mail().inbox.span(e.Peer)
	switch {
	case w.failed != nil:
		return w.failed
	case w.mail().inbox.edges.change:
		return fmt.Errorf("gossip: worker %d: open an edge: the graph changes by itself", w.self)
	case w.plan.Hops != 1 || w.plan.Lead != 1:
		return fmt.Errorf("gossip: worker %d: open an edge: rounds of %d hops with lead %d: must be 1 and 1", w.self,
			w.plan.Hops, w.plan.Lead)
	case exchange < w.mail().outbox.sent || e.Peer == w.self:
		return fmt.Errorf("gossip: worker %d round %d: open an edge to worker %d from exchange %d: the first possible one "+
			"is %d",
			w.self, w.k, e.Peer, exchange, w.mail().outbox.sent)
	case s != nil && s.until > max(s.from, w.slot()):
		return fmt.Errorf("gossip: worker %d round %d: open an edge to worker %d: the edge exists", w.self, w.k, e.Peer)
	}
	w.mail().inbox.open(e, exchange, w.slot())
	w.mail().outbox.add(receiver{rank: e.Peer, from: exchange, until: forever})
	return nil
}
