package sim

import (
	"slices"

	"gossiptrainer/gossip/elastic"
	"gossiptrainer/internal/state"
	"gossiptrainer/topology"
)

// A visit is a worker that comes back under Reweight, for which another one keeps a place.
type visit struct {
	guest topology.Rank
	life  int // of the guest
	seat  elastic.Seat
}

// ask asks those that may be next to a worker for a place in the run that has gone on without
// it, nearest first. Where nobody gives places, or none will be given any more, it is gone.
func (s *stage) ask(p *peer) error {
	if p.Closing == nil || p.Asynchronous || s.Join == nil {
		s.bury(p, "only a ring whose workers go round by round takes a worker back")
		return nil
	}
	hope := false
	for _, rank := range nearest(p.Closing) {
		host := &s.peers[rank]
		if host.standing != living || s.play.Apart(p.Rank, rank) {
			hope = hope || !host.gone
			continue
		}
		answer, err := s.hosted(host, p)
		if err != nil || answer == elastic.Welcome {
			return err
		}
		hope = hope || answer == elastic.NotNow
	}
	if !hope {
		s.bury(p, "nobody has a place for it")
		return nil
	}
	life := p.life
	s.after(askTime, func() error {
		if p.life != life || p.standing != dead {
			return nil
		}
		return s.ask(p)
	})
	return nil
}

// nearest returns all others of a ring, nearest first.
func nearest(closing *topology.Closing) []topology.Rank {
	var all []topology.Rank
	for i := range closing.Up {
		for _, rank := range []topology.Rank{closing.Up[i], closing.Down[i]} {
			if !slices.Contains(all, rank) {
				all = append(all, rank)
			}
		}
	}
	return all
}

// hosted asks a worker for a place.
func (s *stage) hosted(host, p *peer) (elastic.Answer, error) {
	if host.hosts != nil || s.opt.Ending.told {
		return elastic.NotNow, nil
	}
	if err := host.layer.Tick(s.now); err != nil {
		return elastic.NotNow, s.failed(host, err)
	}
	seat, answer, err := host.layer.Host(p.Rank, uint64(p.life))
	if err != nil {
		return answer, s.failed(host, err)
	}
	if answer == elastic.Welcome {
		host.hosts = &visit{p.Rank, p.life, seat}
	}
	return answer, s.act(host)
}

// invite gives the guest of a worker the state with which it begins, before its round.
func (s *stage) invite(host *peer, k int) {
	v := host.hosts
	if v == nil || k != v.seat.Round {
		return
	}
	host.hosts = nil
	own := new(state.Snapshot)
	host.Save(own)
	p := &s.peers[v.guest]
	s.after(s.latency(s.between(host.Rank, p.Rank), 0), func() error {
		if p.life != v.life || p.standing != dead {
			if host.standing == living {
				host.layer.Missed(v.guest, uint64(v.life))
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

// disinvite lets the guest of a worker that dies ask others.
func (s *stage) disinvite(host *peer) {
	v := host.hosts
	if host.hosts = nil; v == nil {
		return
	}
	p := &s.peers[v.guest]
	s.after(askTime, func() error {
		if p.life != v.life || p.standing != dead {
			return nil
		}
		return s.ask(p)
	})
}
