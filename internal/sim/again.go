package sim

import (
	"context"

	"gossiptrainer/gossip"
)

// again goes on without events after a state has been taken, where all workers have just begun one round. It reports
// whether the run is over; otherwise the queue goes on. Gradients that are ordered count: an oracle takes each once.
func again(ctx context.Context, s *simulation) (over bool, err error) {
	s.keeper.taken = false
	if !plain(s) || !together(s) {
		return false, nil
	}
	l := newLockstep(s)
	if l == nil {
		return false, nil
	}
	s.queue = queue{}
	for i := range l.at.begun {
		l.at.begun[i] = s.now
	}
	l.rows.ordered, l.rows.rough = true, 1 // a stack would take the gradients itself
	return l.rounds(ctx)
}

// together reports whether all workers have just begun one round: the queue has their gradients, and all messages of
// that round that exist.
func together(s *simulation) bool {
	k, gradients, frames := s.peers[0].round, 0, 0
	for _, e := range s.queue.sorted() {
		f := e.frame
		switch {
		case e.server != nil:
			return false
		case f == nil && e.at != s.now+s.computing(&s.peers[e.worker], k):
			return false
		case f == nil:
			gradients++
		case f.ahead != nil || f.Kind != gossip.Data || f.Round != k || e.at != s.now+s.opt.Network.Uplink.Latency:
			return false
		default:
			frames++
		}
	}
	edges := 0
	for i := range s.peers {
		p := &s.peers[i]
		if w, ok := p.Machine.(*gossip.Worker); !ok || p.round != k || p.ended {
			return false
		} else if gossip.Overlaps(w) {
			edges += len(p.Rows.Neighbours())
		}
	}
	return gradients == len(s.peers) && frames == edges
}
