package elastic

import (
	"slices"
	"time"

	"gossiptrainer/topology"
)

const (
	mostEdges  = 3   // of a worker of a ring at a time
	hasty      = 4   // a link that is down for this part of the grace makes a worker call another, and one more after each
	invitation = 30  // graces that a worker which comes back may take to begin
	meeting    = 120 // graces that neighbours may take to meet at the beginning
	held       = 3   // graces after which a worker goes on although nobody has closed the gap, or its sponsor has not come
	reach      = 8   // those beyond a gap that are called at most
	margin     = 8   // exchanges that an edge is put off after the first Off, and so many times more after each
	widest     = 12  // bits of that at most
)

// Step returns what has to be done now, in order. It is to be called whenever
// something has happened, and a few times per grace.
func (m *Membership) Step(w Moment) []Act {
	m.acts = m.acts[:0]
	for i := range m.peers {
		a := &m.peers[i]
		if a.void {
			a.void, a.rest = false, w.Next+2 // messages of that process may still be mixed before
			m.cut(a, false)
		}
		if a.patience > 0 && w.Next <= a.edge.opened { // it is not its turn yet
			a.link.since = w.Now
		}
		m.repeat(a)
		m.part(a, w)
	}
	for i := range m.sides {
		m.close(&m.sides[i], w)
	}
	for i := range m.peers {
		a := &m.peers[i]
		if a.on && a.lost(w) && !m.holds(a, w) {
			m.cut(a, true)
		}
		if a.said.offers >= 0 { // nobody has taken it
			if !a.on || a.edge.opened != a.said.offers {
				m.tell(a, Off, w.Next)
			}
			a.said.offers, a.said.told = unsaid, false
		}
	}
	return m.acts
}

// repeat says On again on a new link, and takes back an edge that is refused.
func (m *Membership) repeat(a *acquaintance) {
	if a.said.again {
		a.said.again = false
		if a.edge.opened >= 0 && m.self < a.rank {
			m.tell(a, On, a.edge.opened)
		}
		if a.edge.parts {
			m.tell(a, Part, a.edge.until)
		}
	}
	if !a.said.refuses {
		return
	}
	a.said.refuses = false
	a.tries++
	if !a.on || a.edge.opened < 0 {
		return
	}
	m.cut(a, false)
	for i := range m.sides {
		if s := &m.sides[i]; s.is(a.rank) {
			s.at = s.before
		}
	}
}

// lost reports whether a worker has to go on without its neighbour a.
func (a *acquaintance) lost(w Moment) bool {
	grace := w.Grace * time.Duration(max(a.patience, 1))
	late := a.denied || a.down(w) >= grace
	return a.gone || a.on && late && (w.Free || slices.Contains(w.Waiting, a.rank))
}

// down returns for how long there has been no link.
func (a *acquaintance) down(w Moment) time.Duration {
	if a.link.up || a.link.finished {
		return 0
	}
	return w.Now - a.link.since
}

// close looks for a neighbour in place of the one of a side, if that is lost.
func (m *Membership) close(s *side, w Moment) {
	if len(s.order) == 0 {
		return
	}
	var now *acquaintance // nil in a side without a neighbour
	if s.at >= 0 {
		now = m.find(s.order[s.at])
		if !now.gone && now.down(w) < max(w.Grace/hasty, 1) {
			s.looks = false
			m.insert(s, now, w)
			return
		}
	}
	if !s.looks {
		s.looks, s.began = true, w.Now
	}
	next, at := m.beyond(s, w)
	ahead := 0 // both are stuck
	if now == nil {
		ahead = margin
	}
	if next == nil || now != nil && !now.lost(w) || !m.agree(next, w, ahead) {
		return
	}
	s.before, s.at, s.looks = s.at, at, false
	if now != nil && now.on {
		m.cut(now, true)
	}
}

// agree says what is to be said for an edge with next, and puts it on if both ends
// have said it: so many exchanges ahead as are under way while it is said.
func (m *Membership) agree(next *acquaintance, w Moment, ahead int) bool {
	if m.full() || w.Next < next.rest {
		return false
	}
	if !next.said.told {
		next.said.told = true
		m.tell(next, Want, w.Next)
	}
	from := next.said.offers
	if m.self < next.rank {
		if next.said.wants < 0 {
			return false
		}
		from = max(w.Next, next.said.wants) + ahead
		if next.tries > 0 {
			from += margin << min(3*(next.tries-1), widest)
		}
		m.tell(next, On, from)
	}
	if from < w.Next { // nothing said, or too late
		return false
	}
	next.on, next.edge.opened, next.said.wants, next.said.offers = true, from, unsaid, unsaid
	edge := topology.Edge{Peer: next.rank, Weight: m.weight}
	m.acts = append(m.acts, Act{Kind: Open, Peer: next.rank, Edge: edge, Exchange: from})
	return true
}

// full reports whether one more edge of a ring would make W_ii negative.
func (m *Membership) full() bool {
	edges := 0
	for _, a := range m.peers {
		if a.on {
			edges++
		}
	}
	return edges >= mostEdges
}

// beyond calls those who follow the neighbour of a side, one after the other and up
// to the one where the ring is closed already, and returns the nearest that has
// answered.
func (m *Membership) beyond(s *side, w Moment) (next *acquaintance, at int) {
	called, most := 0, min(1+int((w.Now-s.began)/max(w.Grace/hasty, 1)), reach)
	for at := s.at + 1; at < len(s.order) && called < most; at++ {
		a := m.find(s.order[at])
		switch {
		case a.on:
			return nil, 0
		case a.link.up:
			return a, at
		case a.gone || a.link.finished:
			continue
		case !a.link.called:
			a.link.called = true
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
	return slices.ContainsFunc(m.sides[:], func(s side) bool { return s.is(a.rank) && m.closable(&s) })
}

// closable reports whether there is anybody beyond the neighbour of a side whom
// to look for.
func (m *Membership) closable(s *side) bool {
	for _, rank := range s.order[s.at+1:] {
		switch a := m.find(rank); {
		case a.on:
			return false
		case !a.gone && !a.link.finished:
			return true
		}
	}
	return false
}

// is reports whether the neighbour of a side is that worker.
func (s *side) is(rank topology.Rank) bool {
	return s.at >= 0 && s.at < len(s.order) && s.order[s.at] == rank
}

// cut takes an edge off, for good if its other end is lost.
func (m *Membership) cut(a *acquaintance, lost bool) {
	a.on, a.edge, a.hosted = false, always(), false
	a.gone = lost
	m.acts = append(m.acts, Act{Kind: Cut, Peer: a.rank})
}

func (m *Membership) tell(a *acquaintance, verb Verb, exchange int) {
	m.acts = append(m.acts, Act{Kind: Tell, Peer: a.rank, Verb: verb, Exchange: exchange})
}
