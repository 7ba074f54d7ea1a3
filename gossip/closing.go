package gossip

import (
	"slices"
	"time"

	"gossiptrainer/topology"
)

const (
	hasty  = 4  // a link that is down for this part of the grace makes a worker call others
	held   = 3  // graces after which a worker goes on although nobody has closed the gap
	reach  = 8  // those beyond a gap that are called at a time
	margin = 8  // exchanges that an edge is put off after the first Off, and so many times more after each
	widest = 12 // bits of that at most
)

// Step returns what has to be done now, in order. It is to be called whenever
// something has happened, and a few times per grace.
func (m *Membership) Step(w Moment) []Act {
	m.acts = m.acts[:0]
	for i := range m.peers {
		m.repeat(&m.peers[i])
	}
	for i := range m.sides {
		m.close(&m.sides[i], w)
	}
	for i := range m.peers {
		a := &m.peers[i]
		if a.on && a.lost(w) && !m.holds(a, w) {
			m.cut(a, true)
		}
		if a.offers >= 0 { // nobody has taken it
			if !a.on || a.opened != a.offers {
				m.tell(a, Off, w.Next)
			}
			a.offers, a.told = -1, false
		}
	}
	return m.acts
}

// repeat says On again on a new link, and takes back an edge that is refused.
func (m *Membership) repeat(a *acquaintance) {
	if a.again {
		a.again = false
		m.tell(a, On, a.opened)
	}
	if !a.refuses {
		return
	}
	a.refuses = false
	a.tries++
	if !a.on || a.opened < 0 {
		return
	}
	m.cut(a, false)
	for i := range m.sides {
		if s := &m.sides[i]; s.order[s.at] == a.rank {
			s.at = s.before
		}
	}
}

// lost reports whether a worker has to go on without its neighbour a.
func (a *acquaintance) lost(w Moment) bool {
	late := a.denied || a.met && a.down(w) >= w.Grace
	return a.gone || a.on && late && (w.Free || slices.Contains(w.Waiting, a.rank))
}

// down returns for how long there has been no link.
func (a *acquaintance) down(w Moment) time.Duration {
	if a.up || a.finished {
		return 0
	}
	return w.Now - a.since
}

// close looks for a neighbour in place of the one of a side, if that is lost.
func (m *Membership) close(s *side, w Moment) {
	if s.at >= len(s.order) {
		return
	}
	now := m.find(s.order[s.at])
	if !now.gone && now.down(w) < max(w.Grace/hasty, 1) {
		return
	}
	next, at := m.beyond(s)
	if next == nil || !now.lost(w) {
		return
	}
	if !next.told {
		next.told = true
		m.tell(next, Want, w.Next)
	}
	from := next.offers
	if m.self < next.rank {
		if next.wants < 0 {
			return
		}
		from = max(w.Next, next.wants)
		if next.tries > 0 {
			from += margin << min(3*(next.tries-1), widest)
		}
		m.tell(next, On, from)
	}
	if from < w.Next { // nothing said, or too late
		return
	}
	next.on, next.opened, next.wants, next.offers = true, from, -1, -1
	s.before, s.at = s.at, at
	m.acts = append(m.acts, Act{Kind: Open, Peer: next.rank, Edge: topology.Edge{Peer: next.rank, Weight: m.weight}, Exchange: from})
	if now.on {
		m.cut(now, true)
	}
}

// beyond calls those who follow the neighbour of a side, up to the one where the
// ring is closed already, and returns the nearest that has answered.
func (m *Membership) beyond(s *side) (next *acquaintance, at int) {
	called := 0
	for at := s.at + 1; at < len(s.order) && called < reach; at++ {
		a := m.find(s.order[at])
		switch {
		case a.on:
			return nil, 0
		case a.up:
			return a, at
		case a.gone || a.finished:
			continue
		case !a.called:
			a.called = true
			m.acts = append(m.acts, Act{Kind: Call, Peer: a.rank})
		}
		called++
	}
	return nil, 0
}

// holds reports whether a worker still hopes that the gap which a has left is
// closed, and does not go on before.
func (m *Membership) holds(a *acquaintance, w Moment) bool {
	if a.denied || a.down(w) >= held*w.Grace {
		return false
	}
	return slices.ContainsFunc(m.sides[:], func(s side) bool {
		return s.at < len(s.order) && s.order[s.at] == a.rank && m.closable(&s)
	})
}

// closable reports whether there is anybody beyond the neighbour of a side whom
// to look for.
func (m *Membership) closable(s *side) bool {
	for _, rank := range s.order[s.at+1:] {
		switch a := m.find(rank); {
		case a.on:
			return false
		case !a.gone && !a.finished:
			return true
		}
	}
	return false
}

// cut takes an edge off, for good if its other end is lost.
func (m *Membership) cut(a *acquaintance, lost bool) {
	a.on, a.opened = false, -1
	a.gone = lost
	m.acts = append(m.acts, Act{Kind: Cut, Peer: a.rank})
}

func (m *Membership) tell(a *acquaintance, verb Verb, exchange int) {
	m.acts = append(m.acts, Act{Kind: Tell, Peer: a.rank, Verb: verb, Exchange: exchange})
}
