package gossip

import (
	"slices"

	"gossiptrainer/internal/rng"
)

// begin starts a step, or the end if there is none left.
func (w *PairWorker) begin() {
	if w.spent() {
		w.finished = true
		return
	}
	w.clock = w.steps.total / w.plan.Workers
	w.capture()
	w.point, w.computing, w.asked, w.exchanged = w.snapshot, true, false, false
	for i := range w.peers {
		w.peers[i].declined = false
	}
}

// spent reports whether no further step begins.
func (w *PairWorker) spent() bool { return w.held || w.steps.total >= w.plan.Workers*w.plan.Rounds }

// capture takes a snapshot of the model. It is not called while a gradient is
// taken at the last one, unless that was given away.
func (w *PairWorker) capture() {
	if w.snapshot == nil {
		w.snapshot = make([]float32, len(w.alg.X))
	}
	copy(w.snapshot, w.alg.X)
	w.moved = false
}

// advance goes on as far as it can without news. It returns the first message
// that could not be used, or why the machine has stopped.
func (w *PairWorker) advance() (bad error) {
	for w.failed == nil && w.partner == nil {
		if err := w.serve(); bad == nil {
			bad = err
		}
		switch {
		case w.failed != nil:
		case w.finished:
			w.tell()
			return bad
		case !w.exchanged:
			if !w.seek() {
				return bad
			}
		case w.computing:
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

// serve answers the offers that were held.
func (w *PairWorker) serve() (bad error) {
	for i := range w.peers {
		p := &w.peers[i]
		if !p.held.there || p.held.lacks || w.failed != nil {
			continue
		}
		if err := w.answer(p); bad == nil {
			bad = err
		}
	}
	return bad
}

// seek looks for a neighbour to exchange with and makes it an offer. It reports
// whether something has changed: without one that can be reached the step has
// to wait, and so it has for the gradient if the model has moved meanwhile,
// since the one snapshot is needed where it is.
func (w *PairWorker) seek() bool {
	eligible, declined, alone := 0, false, true
	for i := range w.peers {
		declined = declined || w.peers[i].declined
		alone = alone && w.peers[i].gone
		if w.peers[i].eligible() {
			eligible++
		}
	}
	switch {
	case w.spent(), eligible == 0 && (declined || alone):
		w.exchanged = true
		return true
	case eligible == 0, w.computing && w.moved && w.snapshot != nil:
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

func (p *pairPeer) eligible() bool { return p.up && !p.doubt.open && !p.declined }

// draw returns a number in 0..n−1 for the next offer of this worker. Its seed
// is that of a link of the worker with itself, which no codec uses.
func (w *PairWorker) draw(n int) int {
	key := rng.At(rng.Edge(w.plan.Seed, int(w.self), int(w.self)), w.attempts)
	w.attempts++
	return int(key.Raw(0) % uint32(n))
}

// propose offers the model to p.
func (w *PairWorker) propose(p *pairPeer) {
	if w.moved || w.snapshot == nil {
		w.capture()
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
	w.offer = offer{open: true, number: p.next, at: w.snapshot, payload: w.steps.append(payload)}
	w.partner = p
	p.next += 2
	w.post(p, Frame{Round: w.offer.number, Hop: hopOffer, Note: note, Payload: w.offer.payload})
}

// tell says once that this worker has finished, when nothing is in doubt.
func (w *PairWorker) tell() {
	if w.told || slices.ContainsFunc(w.peers, func(p pairPeer) bool { return p.doubt.open }) {
		return
	}
	w.told = true
	counts := w.steps.append(nil)
	for i := range w.peers {
		w.send(&w.peers[i], hopFinished, 0, counts)
	}
}
