package gossip

import (
	"slices"

	"gossiptrainer/internal/rng"
	"gossiptrainer/topology"
)

// begin begins a step, or the end of the run if no step is left.
func (w *PairWorker) begin() {
	if w.spent() {
		w.end = finished
		return
	}
	w.clock = w.steps.clock()
	copy(w.point, w.alg.X)
	w.gradient, w.exchange = wanted, seeking
	for i := range w.peers {
		w.peers[i].declined = false
	}
}

// spent reports whether no further step begins.
func (w *PairWorker) spent() bool {
	return w.end != running || w.steps.clock() >= w.plan.Rounds
}

// advance does all work that is possible without further input. It returns the error of
// the first message that could not be used, or the error that stopped the machine.
func (w *PairWorker) advance() (bad error) {
	for w.failed == nil {
		if w.turn.served && w.exchange == seeking && w.seek() {
			w.turn.served = false
			continue
		}
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
			w.turn.served = false
		case w.exchange != over || w.gradient != applied:
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

// serve agrees to the exchange whose question has waited longest, if this worker is free.
func (w *PairWorker) serve() (bad error) {
	for w.free() && w.failed == nil && !shut(w) {
		var first *pairPeer
		for i := range w.peers {
			if p := &w.peers[i]; p.canServe() && (first == nil || p.arrival < first.arrival) {
				first = p
			}
		}
		if first == nil {
			return bad
		}
		if err := w.agree(first); bad == nil {
			bad = err
		}
	}
	return bad
}

// canServe reports whether p waits for an answer, and no model of its last exchange is under way to this worker.
func (p *pairPeer) canServe() bool { return p.held && !p.still && p.theirs.state != lacking }

// free reports whether this worker takes part in no exchange and waits for no answer.
func (w *PairWorker) free() bool {
	return w.serving == nil && w.exchange != asking && w.exchange != trading
}

// seek asks a random neighbour, or ends the exchange of the step. It reports whether something
// has changed. While this worker serves, or if no neighbour can be reached, the step waits.
func (w *PairWorker) seek() bool {
	eligible, declined, alone := 0, false, true
	for i := range w.peers {
		p := &w.peers[i]
		declined = declined || p.declined || p.wouldDecline(w.self)
		alone = alone && (p.state == gone || p.finished && !w.plan.Serve || p.off)
		if p.eligible(w) {
			eligible++
		}
	}
	switch {
	case w.spent(), eligible == 0 && (declined || alone):
		w.exchange = over
		return true
	case eligible == 0, w.serving != nil:
		return false
	}
	pick := w.draw(eligible)
	for i := range w.peers {
		if p := &w.peers[i]; p.eligible(w) {
			if pick == 0 {
				w.request(p)
				return true
			}
			pick--
		}
	}
	panic("internal error: gossip: fewer neighbours than counted")
}

// eligible reports whether worker w can ask p.
func (p *pairPeer) eligible(w *PairWorker) bool {
	return p.state == reachable && !p.asked && p.mine.state != lacking && !p.declined && (!p.finished || w.plan.Serve) &&
		!p.off && !p.still && !p.wouldDecline(w.self)
}

// wouldDecline reports whether p waits for the answer of worker self, of a lower rank: it would decline.
func (p *pairPeer) wouldDecline(self topology.Rank) bool { return p.held && p.rank > self }

// draw returns a random number in 0..n−1 for the next question of this worker. Its seed is
// that of a link from the worker to itself, which no codec uses.
func (w *PairWorker) draw(n int) int {
	key := rng.At(rng.Edge(w.plan.Seed, int(w.self), int(w.self)), w.attempts)
	w.attempts++
	return int(key.Raw(0) % uint32(n))
}

// request asks p for an exchange, and declines the questions that would keep a lower rank waiting.
func (w *PairWorker) request(p *pairPeer) {
	var note uint64
	if p.proposer != nil {
		note = uint64(p.proposer.Propose(p.next, w.clock))
	}
	w.partner, w.exchange = p, asking
	w.post(p, Frame{Round: p.next, Hop: hopAsk, Note: note})
	p.next, p.asked = p.next+2, true
	for i := range w.peers {
		if q := &w.peers[i]; q.held && q.rank < w.self {
			w.decline(q)
		}
	}
}

// tell tells all neighbours once that this worker has finished, when no exchange is open.
func (w *PairWorker) tell() {
	if w.end == told || slices.ContainsFunc(w.peers, func(p pairPeer) bool { return p.unfinished() }) {
		return
	}
	w.end = told
	counts := w.steps.append(nil)
	for i := range w.peers {
		if w.peers[i].held && shut(w) {
			w.decline(&w.peers[i])
		}
		w.send(&w.peers[i], hopFinished, 0, counts)
	}
}
