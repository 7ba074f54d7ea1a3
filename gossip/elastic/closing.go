package elastic

import (
	"slices"
	"time"

	"gossiptrainer/topology"
)

const (
	mostEdges   = 3   // edges of a worker of a ring at a time
	hasty       = 4   // after 1/hasty of the grace without a link a worker calls another one, and then one more each time
	invitation  = 30  // graces that a worker which comes back may take to begin
	invitations = 3   // edges in a row that are given to a worker which does not come
	meeting     = 120 // graces that neighbours may take to meet at the beginning
	held        = 3   // graces that a worker waits for a gap to close, or for its sponsor
	reach       = 8   // workers beyond a gap that are called at most
	margin      = 8   // exchanges that an edge is put off after the first Off; each further Off multiplies them by 8
	widest      = 12  // bits: the margin grows at most by 2^widest
	parted      = 2   // exchanges of an edge after Part: the neighbour is at most one exchange ahead
)

// Step returns the acts that are due now, in order. A driver calls it whenever
// something has happened, and a few times per grace.
func (m *Membership) Step(w Moment) []Act {
	m.acts, m.now = m.acts[:0], w
	for i := range m.relations {
		r := &m.relations[i]
		if r.edge.state == outdated {
			r.earliest = w.Next + 2 // messages of the earlier process may still be mixed before
			m.cut(r, apart)
		}
		if r.link.state == expected && r.edge.dated() && w.Next <= r.edge.from { // its turn has not come
			r.link.since = w.Now
		}
		m.repeat(r)
		m.part(r, w)
	}
	for i := range m.sides {
		m.close(&m.sides[i], w)
	}
	for i := range m.relations {
		r := &m.relations[i]
		if r.edge.on() && r.hopeless(w) && !m.holds(r, w) {
			m.cut(r, lost)
		}
		if r.talk.theirs == offers {
			m.answer(r, w)
		}
	}
	return m.acts
}

// repeat says On and Part again on a new link, and takes off an edge that the other
// end does not have. Its side has the neighbour from before again, or looks for the nearest
// worker if there is no edge to that one either.
func (m *Membership) repeat(r *relation) {
	if r.link.state == fresh {
		r.link.state = up
		if r.edge.dated() && m.self < r.rank {
			m.tell(r, On, r.edge.from)
		}
		if r.edge.end == parting {
			m.tell(r, Part, r.edge.until)
		}
	}
	if r.edge.state != refused {
		return
	}
	m.cut(r, apart)
	for i := range m.sides {
		s := &m.sides[i]
		if !s.is(r.rank) {
			continue
		}
		s.near = s.before
		if n := m.neighbour(s); n != nil && n.edge.state == apart {
			s.near = 0
		}
	}
}

// answer refuses an On that this worker has not made use of.
func (m *Membership) answer(r *relation, w Moment) {
	if r.edge.dated() && r.edge.from == r.talk.exchange {
		r.talk = talk{}
		return
	}
	m.tell(r, Off, w.Next)
	r.talk.theirs, r.talk.wanted = wants, false
}

// close looks for a neighbour in place of the one of a side, if that one is lost.
func (m *Membership) close(s *side, w Moment) {
	if len(s.order) == 0 {
		return
	}
	now := m.neighbour(s)
	if now != nil && now.edge.state != lost && now.link.missing(w.Now) < patience(w) {
		s.looks = false
		m.insert(s, now, w)
		return
	}
	if !s.looks {
		s.looks, s.began = true, w.Now
	}
	next, at := m.beyond(s, w)
	ahead := 0 // both are stuck
	if now == nil {
		ahead = margin
	}
	if next == nil || now != nil && !now.hopeless(w) || !m.agree(next, w, ahead) {
		return
	}
	s.before, s.near, s.looks = s.near, at+1, false
	if now != nil && now.edge.on() {
		m.cut(now, lost)
	}
}

// neighbour returns the relation to the neighbour of a side, nil if it has none.
func (m *Membership) neighbour(s *side) *relation {
	if s.near == 0 {
		return nil
	}
	return m.find(s.order[s.near-1])
}

// patience returns how long a link may be missing before this worker looks further.
func patience(w Moment) time.Duration { return max(w.Grace/hasty, 1) }

// agree says that this worker wants an edge to next, and puts the edge on if both
// ends have said so. The edge begins as many exchanges ahead as may pass while the
// two agree.
func (m *Membership) agree(next *relation, w Moment, ahead int) bool {
	if m.full() || w.Next < next.earliest {
		return false
	}
	if !next.talk.wanted {
		next.talk.wanted = true
		m.tell(next, Want, w.Next)
	}
	from := next.talk.exchange
	switch {
	case m.self < next.rank && next.talk.theirs != silent:
		from = max(w.Next, from) + ahead
		if next.refusals > 0 {
			from += margin << min(3*(next.refusals-1), widest)
		}
		m.tell(next, On, from)
	case m.self < next.rank || next.talk.theirs != offers || from < w.Next: // nothing said, or too late
		return false
	}
	next.edge, next.talk.theirs = edge{state: agreed, from: from}, silent
	edge := topology.Edge{Peer: next.rank, Weight: m.weight}
	m.acts = append(m.acts, Act{Kind: Open, Peer: next.rank, Edge: edge, Exchange: from})
	return true
}

// full reports whether one more edge of a ring would make W_ii negative.
func (m *Membership) full() bool {
	edges := 0
	for _, r := range m.relations {
		if r.edge.on() {
			edges++
		}
	}
	return edges >= mostEdges
}

// beyond calls the workers beyond the neighbour of a side, one after the other and up
// to the end of the gap. It returns the nearest that has answered, and its place.
func (m *Membership) beyond(s *side, w Moment) (next *relation, at int) {
	called, most := 0, min(1+int((w.Now-s.began)/patience(w)), reach)
	for at := s.near; at < len(s.order) && called < most; at++ {
		r := m.find(s.order[at])
		switch {
		case r.edge.on():
			return nil, 0
		case r.edge.state == lost || r.link.state == finished:
			continue
		case r.link.exists():
			return r, at
		case !r.link.called:
			r.link.called = true
			m.acts = append(m.acts, Act{Kind: Call, Peer: r.rank})
		}
		called++
	}
	return nil, 0
}

// holds reports whether this worker waits for the gap that r has left to close, and
// does not go on before.
func (m *Membership) holds(r *relation, w Moment) bool {
	if r.denied || r.link.missing(w.Now) >= held*w.Grace {
		return false
	}
	return slices.ContainsFunc(m.sides[:], func(s side) bool { return s.is(r.rank) && m.closable(&s) })
}

// closable reports whether a worker beyond the neighbour of a side may close the gap.
func (m *Membership) closable(s *side) bool {
	for _, rank := range s.order[s.near:] {
		switch r := m.find(rank); {
		case r.edge.on():
			return false
		case r.edge.state != lost && r.link.state != finished:
			return true
		}
	}
	return false
}

// is reports whether the neighbour of a side is that worker.
func (s *side) is(rank topology.Rank) bool { return s.near > 0 && s.order[s.near-1] == rank }

// cut takes an edge off and leaves it in state next, apart or lost.
func (m *Membership) cut(r *relation, next edgeState) {
	r.edge = edge{state: next}
	m.acts = append(m.acts, Act{Kind: Cut, Peer: r.rank})
}

func (m *Membership) tell(r *relation, verb Verb, exchange int) {
	m.acts = append(m.acts, Act{Kind: Tell, Peer: r.rank, Verb: verb, Exchange: exchange})
}
