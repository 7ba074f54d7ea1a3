package gossip

import (
	"slices"

	"gossiptrainer/internal/rng"
)

// begin begins a step, or the end of the run if no step is left.
func (w *PairWorker) begin() {
	if w.spent() {
		w.end = finished
		return
	}
	w.clock = w.steps.total / w.plan.Workers
	w.snapshot.capture(w.alg.X)
	w.point, w.gradient, w.exchange = w.snapshot.x, wanted, seeking
	for i := range w.peers {
		w.peers[i].declined = false
	}
}

// spent reports whether no further step begins.
func (w *PairWorker) spent() bool {
	return w.end != running || w.steps.total >= w.plan.Workers*w.plan.Rounds
}

// advance does all work that is possible without further input. It returns the error of
// the first message that could not be used, or the error that stopped the machine.
func (w *PairWorker) advance() (bad error) {
	for w.failed == nil && w.exchange != offering {
		if err := w.serve(); bad == nil {
			bad = err
		}
		switch {
		case w.failed != nil:
		case w.end >= finished:
			w.tell()
			return bad
		case w.exchange == seeking:
			if !w.seek() {
				return bad
			}
		case w.gradient != applied:
			return bad
		default:
			w.step++
			if w.boundary != nil {
				w.boundary(w.step)
			}
			w.begin()
		}
	}
	if w.failed != nil {
		return w.failed
	}
	return bad
}

// serve answers the offers that are held.
func (w *PairWorker) serve() (bad error) {
	for i := range w.peers {
		p := &w.peers[i]
		if p.held.state == absent || p.held.state == mistaken || w.failed != nil {
			continue
		}
		if err := w.answer(p); bad == nil {
			bad = err
		}
	}
	return bad
}

// seek makes an offer to a random neighbour, or ends the exchange of the step. It
// reports whether something has changed. If no neighbour can be reached, the step
// waits. If the model has moved since the snapshot, the offer waits for the gradient,
// which still needs the snapshot.
func (w *PairWorker) seek() bool {
	eligible, declined, alone := 0, false, true
	for i := range w.peers {
		declined = declined || w.peers[i].declined
		alone = alone && w.peers[i].state == gone
		if w.peers[i].eligible() {
			eligible++
		}
	}
	switch {
	case w.spent(), eligible == 0 && (declined || alone):
		w.exchange = over
		return true
	case eligible == 0, w.gradient != applied && w.snapshot.state == behind:
		return false
	}
	pick := w.draw(eligible)
	for i := range w.peers {
		if p := &w.peers[i]; p.eligible() {
			if pick == 0 {
				w.propose(p)
				return true
			}
			pick--
		}
	}
	panic("internal error: gossip: fewer neighbours than counted")
}

// eligible reports whether this worker can make p an offer.
func (p *pairPeer) eligible() bool { return p.state == reachable && p.doubt == nil && !p.declined }

// draw returns a random number in 0..n−1 for the next offer of this worker. Its seed is
// that of a link from the worker to itself, which no codec uses.
func (w *PairWorker) draw(n int) int {
	key := rng.At(rng.Edge(w.plan.Seed, int(w.self), int(w.self)), w.attempts)
	w.attempts++
	return int(key.Raw(0) % uint32(n))
}

// propose offers the model to p.
func (w *PairWorker) propose(p *pairPeer) {
	if w.snapshot.state != exact {
		w.snapshot.capture(w.alg.X)
	}
	var note uint64
	if p.proposer != nil {
		note = uint64(p.proposer.Propose(p.next, w.clock))
	}
	payload, err := w.alg.Offer(w.offer.payload[:0], p.next, p.rank)
	if err != nil {
		_ = w.judge(p, p.next, err)
		return
	}
	w.offer = offer{number: p.next, at: w.snapshot.x, payload: w.steps.append(payload)}
	w.partner, w.exchange = p, offering
	p.next += 2
	w.post(p, Frame{Round: w.offer.number, Hop: hopOffer, Note: note, Payload: w.offer.payload})
}

// tell tells all neighbours once that this worker has finished, when no offer is in doubt.
func (w *PairWorker) tell() {
	if w.end == told || slices.ContainsFunc(w.peers, func(p pairPeer) bool { return p.doubt != nil }) {
		return
	}
	w.end = told
	counts := w.steps.append(nil)
	for i := range w.peers {
		w.send(&w.peers[i], hopFinished, 0, counts)
	}
}
