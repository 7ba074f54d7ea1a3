package sim

import (
	layers "gossiptrainer/gossip/peer"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/fault"
)

// applyKill kills the process of a worker, or starts the next one when the fault is over.
func (s *faultSim) applyKill(c fault.Change) error {
	p := &s.peers[c.Peers[0]]
	if !c.Over && p.status != dead {
		s.kill(p)
	}
	p.number++ // a process that is being started dies as well
	if s.play.Gone(p.Rank) {
		s.giveUp(p, "killed for good")
	}
	if s.play.Dead(p.Rank) || p.gone {
		return nil
	}
	number := p.number
	s.after(startTime, func() error {
		if p.number != number {
			return nil
		}
		if s.Lost == layers.Reweight {
			return s.askAll(p)
		}
		return s.restart(p)
	})
	return nil
}

// kill ends the process of a worker. The system closes its connections, so its neighbours notice after the latency of
// the link.
func (s *faultSim) kill(p *peer) {
	s.keeper.abandon()
	s.threads[0].pool.cancel(&p.order)
	s.threads[0].pool.release(&p.order)
	s.quit(p)
	p.account.Lack(nil, s.now)
	p.status, p.ended = dead, false
	p.number++
	p.atDeath = p.reached
	s.cancel(p)
	p.held, p.lost, p.delay = nil, nil, 0
	for _, l := range s.links.of(p.Rank) {
		l.refused[l.end(p.Rank)] = 0 // the next process knows nothing of that
		if l.up {
			s.lose(l, max(s.latency(l, 0), s.latency(l, 1)))
		}
	}
}

// restart starts a new process of a worker at its newest checkpoint.
func (s *faultSim) restart(p *peer) error {
	var from *state.Snapshot
	round := 0
	if last := len(p.kept) - 1; last >= 0 {
		from, round = p.kept[last].state, p.kept[last].round
	}
	task, err := s.Revive(p.Rank, from)
	if err != nil {
		return &TrainingError{Rank: p.Rank, Round: round, Err: err}
	}
	return s.begin(p, task, round, nil)
}
