package sim

import (
	"gossiptrainer/gossip/elastic"
	"gossiptrainer/gossip/state"
)

// askAll asks the other workers of the ring, nearest first, for a place in the run that has gone on without a worker.
// The worker is lost for good if no other worker can have a place for it, now or later. If all are dead, the state of
// the run is lost.
func (s *faultSim) askAll(p *peer) error {
	if p.Closing == nil || p.Asynchronous || s.Join == nil {
		s.giveUp(p, "it cannot return: only a synchronous run on a ring takes a worker back")
		return nil
	}
	hope := false
	for _, rank := range p.Closing.Nearest() {
		host := &s.peers[rank]
		if host.status != running || s.play.Apart(p.Rank, rank) {
			hope = hope || host.status != dead // another dead one needs a place itself
			continue
		}
		answer, err := s.ask(host, p)
		if err != nil || answer == elastic.Welcome {
			return err
		}
		hope = hope || answer == elastic.NotNow
	}
	if !hope {
		s.giveUp(p, "it cannot return: no other worker has a place for it")
		return nil
	}
	number := p.number
	s.after(askTime, func() error {
		if p.number != number || p.status != dead {
			return nil
		}
		return s.askAll(p)
	})
	return nil
}

// ask asks one worker to keep a place for another one.
func (s *faultSim) ask(host, p *peer) (elastic.Answer, error) {
	if host.keeps != nil || s.opt.Ending.announced {
		return elastic.NotNow, nil
	}
	if err := host.layer.Tick(s.now); err != nil {
		return elastic.NotNow, s.failed(host, err)
	}
	seat, answer, err := host.layer.Host(p.Rank, uint64(p.number))
	if err != nil {
		return answer, s.failed(host, err)
	}
	if answer == elastic.Welcome {
		host.keeps = &reservation{p.Rank, p.number, seat}
		l := s.links.between(host.Rank, p.Rank)
		l.refused[l.end(host.Rank)] = 0 // it may have given up an earlier process when this one was there
	}
	return answer, s.act(host)
}

// invite sends the worker for which host keeps a place the state with which it begins, before its
// round.
func (s *faultSim) invite(host *peer, k int) {
	v := host.keeps
	if v == nil || k != v.seat.Round {
		return
	}
	host.keeps = nil
	v.seat.Process = uint64(host.number)
	own := new(state.Snapshot)
	host.Save(own)
	p := &s.peers[v.rank]
	s.after(s.latency(s.links.between(host.Rank, p.Rank), 0), func() error {
		if p.number != v.process || p.status != dead {
			if host.status == running {
				host.layer.Missed(v.rank, uint64(v.process))
			}
			return nil
		}
		task, err := s.Join(p.Rank, host.Rank, own)
		if err != nil {
			return &TrainingError{Rank: p.Rank, Round: k, Err: err}
		}
		return s.begin(p, task, k, &v.seat)
	})
}

// cancel lets a worker ask again if the host that keeps its place dies.
func (s *faultSim) cancel(host *peer) {
	v := host.keeps
	if host.keeps = nil; v == nil {
		return
	}
	p := &s.peers[v.rank]
	s.after(askTime, func() error {
		if p.number != v.process || p.status != dead {
			return nil
		}
		return s.askAll(p)
	})
}
