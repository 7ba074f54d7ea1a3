package sim

import (
	"errors"
	"fmt"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/topology"
)

var errLost = errors.New("the link is lost")

// want notes that the process of a worker wants a link, and returns the link.
func (s *faultSim) want(p *peer, other topology.Rank) *link {
	l := s.links.between(p.Rank, other)
	l.wanted[l.end(p.Rank)] = p.number
	return l
}

// possible reports whether a lost link can be made now.
func (s *faultSim) possible(l *link) bool {
	a, b := &s.peers[l.ends[0]], &s.peers[l.ends[1]]
	wanted := l.wanted[0] == a.number || l.wanted[1] == b.number
	both := a.status == running && b.status == running
	return !l.up && l.unseen == 0 && wanted && both && !s.play.Apart(a.Rank, b.Rank)
}

// retry makes a lost link again after retryTime, if that is possible now and then.
func (s *faultSim) retry(l *link) {
	if l.retrying || !s.possible(l) {
		return
	}
	l.retrying = true
	s.after(retryTime+s.latency(l, 0)+s.latency(l, 1), func() error {
		l.retrying = false
		if !s.possible(l) {
			return nil
		}
		for i, rank := range l.ends {
			if other := &s.peers[l.ends[1-i]]; l.refused[i] == other.number {
				return s.refuse(other, rank)
			}
		}
		return s.meet(l)
	})
}

// refuse tells a worker that another one has gone on without it.
func (s *faultSim) refuse(p *peer, by topology.Rank) error {
	no := fmt.Errorf("worker %d has gone on without worker %d", by, p.Rank)
	if err := p.layer.Parted(by, &gossip.RefusedError{Remote: true, Place: true, Err: no}); err != nil {
		return s.failed(p, err)
	}
	return s.act(p)
}

// meet makes a link. Both ends introduce themselves.
func (s *faultSim) meet(l *link) error {
	l.up = true
	l.number++
	said := [2]gossip.Control{s.peers[l.ends[0]].intro, s.peers[l.ends[1]].intro}
	for i, rank := range l.ends {
		p, other := &s.peers[rank], &s.peers[l.ends[1-i]]
		renewed := l.met[i].own == p.number && l.met[i].other != other.number
		l.met[i] = met{p.number, other.number}
		if err := p.layer.Tick(s.now); err != nil {
			return s.failed(p, err)
		}
		err := p.layer.Met(other.Rank, gossip.Meeting{
			Theirs: said[1-i].Place, Ours: said[i].Place, Durable: said[1-i].Durable, Kept: said[i].Durable,
			Process: uint64(other.number), Renewed: renewed,
		})
		if err == nil {
			err = s.act(p)
		} else {
			err = s.failed(p, err)
		}
		if err != nil || !l.up {
			return err
		}
	}
	return nil
}

// lose breaks a link and drops the frames on their way. A running end notices after the given time, a hanging end when
// it wakes.
func (s *faultSim) lose(l *link, notice time.Duration) {
	l.up = false
	l.number++
	for i, rank := range l.ends {
		p, other := &s.peers[rank], l.ends[1-i]
		s.threads[0].attend(p, p.uplink.Drop(other, s.now))
		switch p.status {
		case hanging:
			p.lost = append(p.lost, other)
		case running:
			l.unseen++
			number := p.number
			s.after(notice, func() error {
				l.unseen--
				return s.notice(p, number, l, other)
			})
		}
	}
}

// notice tells the process of a worker that it has lost a link, unless the worker has another process by now.
func (s *faultSim) notice(p *peer, number int, l *link, other topology.Rank) error {
	switch {
	case p.number != number || p.status == dead:
	case p.status == hanging:
		p.lost = append(p.lost, other)
		return nil
	default:
		s.effects.noticed(p.Rank, other, s.now)
		if err := s.parted(p, other); err != nil {
			return err
		}
	}
	s.retry(l)
	return nil
}

// parted tells the layers of a worker that it has lost a link.
func (s *faultSim) parted(p *peer, other topology.Rank) error {
	if err := p.layer.Parted(other, errLost); err != nil {
		return s.failed(p, err)
	}
	return s.act(p)
}
