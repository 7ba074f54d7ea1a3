package sim

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"gossiptrainer/gossip"
	layers "gossiptrainer/gossip/peer"
	"gossiptrainer/topology"
)

// A link is what two neighbours have under a script. Its number changes whenever it is
// made or lost, so that frames of a link that is lost do not arrive on the next one.
type link struct {
	ends   [2]topology.Rank // the lower rank first
	up     bool
	number int
	unseen int    // ends that have not noticed yet that it is lost
	trying bool   // to be made again
	met    [2]met // by end
	wants  [2]int // process of an end that makes it; 0: none
	left   [2]int // process of the other end with which an end has no more to do; 0: none
}

// end returns which end a worker is.
func (l *link) end(rank topology.Rank) int {
	if l.ends[0] == rank {
		return 0
	}
	return 1
}

// A met is which processes had the last link, as one end knows.
type met struct{ own, other int }

func pair(i, j topology.Rank) [2]topology.Rank { return [2]topology.Rank{min(i, j), max(i, j)} }

// between returns the link of two workers, which need not be neighbours.
func (s *stage) between(i, j topology.Rank) *link {
	key := pair(i, j)
	if s.links[key] == nil {
		l := &link{ends: key}
		s.links[key] = l
		at, _ := slices.BinarySearchFunc(s.ordered, l, func(a, b *link) int {
			return slices.Compare(a.ends[:], b.ends[:])
		})
		s.ordered = slices.Insert(s.ordered, at, l)
	}
	return s.links[key]
}

var errLost = errors.New("the link is lost")

// of returns the links of a worker.
func (s *stage) of(rank topology.Rank) []*link {
	var all []*link
	for _, l := range s.ordered {
		if l.ends[0] == rank || l.ends[1] == rank {
			all = append(all, l)
		}
	}
	return all
}

// want lets a worker make a link, as soon as that is possible.
func (s *stage) want(p *peer, other topology.Rank) *link {
	l := s.between(p.Rank, other)
	l.wants[l.end(p.Rank)] = p.life
	return l
}

// possible reports whether a link that is lost could be made now.
func (s *stage) possible(l *link) bool {
	a, b := &s.peers[l.ends[0]], &s.peers[l.ends[1]]
	wanted := l.wants[0] == a.life || l.wants[1] == b.life
	both := a.standing == living && b.standing == living
	return !l.up && l.unseen == 0 && wanted && both && !s.play.Apart(a.Rank, b.Rank)
}

// try makes a link soon, if it is still possible then.
func (s *stage) try(l *link) {
	if l.trying || !s.possible(l) {
		return
	}
	l.trying = true
	s.after(retryTime+s.latency(l, 0)+s.latency(l, 1), func() error {
		l.trying = false
		if !s.possible(l) {
			return nil
		}
		for i, rank := range l.ends {
			if other := &s.peers[l.ends[1-i]]; l.left[i] == other.life {
				return s.refuse(other, rank)
			}
		}
		return s.meet(l)
	})
}

// ship returns a frame as it travels, and the number of the link on which it does. A worker
// that others go on without may still read what they have sent, when they write anew in
// the same memory: it gets copies.
func (s *stage) ship(f gossip.Frame) (gossip.Frame, int) {
	if s.Lost != layers.Wait {
		f.Payload = slices.Clone(f.Payload)
	}
	return f, s.between(f.From, f.To).number
}

// refuse tells a worker that another one has gone on without it.
func (s *stage) refuse(p *peer, by topology.Rank) error {
	no := fmt.Errorf("worker %d has gone on without worker %d", by, p.Rank)
	if err := p.layer.Parted(by, &gossip.RefusedError{Remote: true, Place: true, Err: no}); err != nil {
		return s.failed(p, err)
	}
	return s.act(p)
}

// latency returns how long a word takes from one end of a link to the other.
func (s *stage) latency(l *link, end int) time.Duration {
	return s.peers[l.ends[end]].uplink.Link(l.ends[1-end]).Latency
}

// meet makes a link. Both ends tell where they are.
func (s *stage) meet(l *link) error {
	l.up = true
	l.number++
	said := [2]gossip.Control{s.peers[l.ends[0]].said, s.peers[l.ends[1]].said}
	for i, rank := range l.ends {
		p, other := &s.peers[rank], &s.peers[l.ends[1-i]]
		renewed := l.met[i].own == p.life && l.met[i].other != other.life
		l.met[i] = met{p.life, other.life}
		if err := p.layer.Tick(s.now); err != nil {
			return s.failed(p, err)
		}
		err := p.layer.Met(other.Rank, gossip.Meeting{
			Theirs: said[1-i].Place, Ours: said[i].Place, Durable: said[1-i].Durable, Kept: said[i].Durable,
			Process: uint64(other.life), Renewed: renewed,
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

// lose breaks a link, with what is on its way. An end that lives notices after some time, one
// that hangs when it wakes.
func (s *stage) lose(l *link, notice time.Duration) {
	l.up = false
	l.number++
	for i, rank := range l.ends {
		p, other := &s.peers[rank], l.ends[1-i]
		s.attend(p, p.uplink.Drop(other, s.now))
		switch p.standing {
		case hanging:
			p.lost = append(p.lost, other)
		case living:
			l.unseen++
			life := p.life
			s.after(notice, func() error {
				l.unseen--
				return s.notice(p, life, l, other)
			})
		}
	}
}

// notice tells a worker, if it is still the same process, that it has lost a link.
func (s *stage) notice(p *peer, life int, l *link, other topology.Rank) error {
	switch {
	case p.life != life || p.standing == dead:
	case p.standing == hanging:
		p.lost = append(p.lost, other)
		return nil
	default:
		s.noticed(p.Rank, other)
		if err := s.parted(p, other); err != nil {
			return err
		}
	}
	s.try(l)
	return nil
}

// parted tells the layers of a worker that it has lost a link.
func (s *stage) parted(p *peer, other topology.Rank) error {
	if err := p.layer.Parted(other, errLost); err != nil {
		return s.failed(p, err)
	}
	return s.act(p)
}
