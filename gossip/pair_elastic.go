package gossip

import (
	"fmt"

	"gossiptrainer/topology"
)

var _ Elastic = (*PairWorker)(nil)

// Next returns 0: an edge without rounds is on or off at once.
func (w *PairWorker) Next() int { return 0 }

// Cut lets go of peer: its offers, and the one to it that is in doubt. The other
// end may have used that one; then it alone did.
func (w *PairWorker) Cut(peer topology.Rank) (exchange int, err error) {
	p := w.peer(peer)
	switch {
	case w.failed != nil:
		return 0, w.failed
	case p == nil:
		return 0, fmt.Errorf("gossip: worker %d step %d: cut: %w: %d", w.self, w.step, ErrStranger, peer)
	case p.up:
		w.Link(peer, false)
	}
	w.drop(&p.doubt.reply)
	p.gone, p.doubt, p.finished = true, offer{}, true
	return 0, w.advance()
}

// Open makes e.Peer one to exchange with. Weights are those of the algorithm.
func (w *PairWorker) Open(e topology.Edge, _ int) error {
	switch {
	case w.failed != nil:
		return w.failed
	case e.Peer == w.self || w.peer(e.Peer) != nil:
		return fmt.Errorf("gossip: worker %d step %d: open an edge to worker %d: it has one", w.self, w.step, e.Peer)
	}
	var partner topology.Rank = -1
	if w.partner != nil {
		partner = w.partner.rank
	}
	w.peers = append(w.peers, newPairPeer(w.self, e.Peer, w.alg.Codec(e.Peer)))
	w.partner = w.peer(partner) // the peers have moved
	if w.told {
		w.send(&w.peers[len(w.peers)-1], hopFinished, 0, w.steps.append(nil))
	}
	return w.advance()
}

// Close is Cut.
func (w *PairWorker) Close(peer topology.Rank, _ int) error {
	_, err := w.Cut(peer)
	return err
}
