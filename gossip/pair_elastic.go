package gossip

import (
	"fmt"
	"slices"

	"gossiptrainer/topology"
)

var _ Elastic = (*PairWorker)(nil)

// Whole does nothing: models of exchanges are whole.
func (w *PairWorker) Whole() {}

// Next returns 0: without rounds an edge is on or off at once.
func (w *PairWorker) Next() int { return 0 }

// Cut takes peer off the neighbours. It drops the open exchanges with it. If the other end
// has used one of them, it alone did.
func (w *PairWorker) Cut(peer topology.Rank) (exchange int, err error) {
	p := w.peer(peer)
	switch {
	case w.failed != nil:
		return 0, w.failed
	case p == nil && w.gone(peer) >= 0:
		return 0, nil
	case p == nil:
		return 0, fmt.Errorf("gossip: worker %d step %d: cut: %w: %d", w.self, w.step, ErrStranger, peer)
	case p.state == reachable:
		w.Link(peer, false)
	}
	w.forget(p)
	p.state = gone
	return 0, w.advance()
}

// Open makes e.Peer a neighbour. The weight of e is not used: the algorithm has one for all.
func (w *PairWorker) Open(e topology.Edge, _ int) error {
	switch {
	case w.failed != nil:
		return w.failed
	case e.Peer == w.self || w.peer(e.Peer) != nil:
		return fmt.Errorf("gossip: worker %d step %d: open an edge to worker %d: the edge exists, or it is this worker",
			w.self, w.step, e.Peer)
	}
	partner, serving := rankOf(w.partner), rankOf(w.serving)
	if i := w.gone(e.Peer); i >= 0 { // an edge that goes on and off must not take memory each time
		w.peers = slices.Delete(w.peers, i, i+1)
	}
	w.peers = append(w.peers, newPairPeer(w.self, e.Peer, w.alg.Codec(e.Peer)))
	w.partner, w.serving = w.peer(partner), w.peer(serving) // the peers may have moved
	if w.end == told {
		w.send(&w.peers[len(w.peers)-1], hopFinished, 0, w.steps.append(nil))
	}
	return w.advance()
}

// rankOf returns the rank of a neighbour, −1 of none.
func rankOf(p *pairPeer) topology.Rank {
	if p == nil {
		return -1
	}
	return p.rank
}

// gone returns the position in peers of a former neighbour, or −1 if the worker never was one.
func (w *PairWorker) gone(peer topology.Rank) int {
	return slices.IndexFunc(w.peers, func(p pairPeer) bool { return p.rank == peer && p.state == gone })
}

// Close does the same as Cut.
func (w *PairWorker) Close(peer topology.Rank, _ int) error {
	_, err := w.Cut(peer)
	return err
}
