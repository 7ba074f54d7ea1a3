package elastic

import (
	"slices"
	"time"

	"gossiptrainer/topology"
)

// A worker that was lost may come back to a ring as another process. A sponsor,
// which is next to it in what is left of the ring, gives it its own state as of the
// beginning of an exchange, and has an edge with it from there on. On the other
// side the newcomer finds its neighbour as everybody does who has none, and that
// one parts with the neighbour it had in its place. All hold the weights that they
// had, so W is doubly stochastic throughout; while the old edge is there besides the
// new ones its ends have three.

// NewGuest returns the membership of a worker that has come back and has one edge,
// with its sponsor, from an exchange on.
func NewGuest(self, sponsor topology.Rank, closing *topology.Closing, exchange int, now time.Duration) *Membership {
	m := NewMembership(self, topology.Row{}, closing)
	m.sides[0].at, m.sides[1].at = -1, -1
	m.seat(sponsor, exchange)
	a := m.find(sponsor)
	a.patience, a.link.since = held, now
	return m
}

// Host gives a worker that has come back as another process an edge from an exchange
// on, and reports whether that can be: nobody is between, and it was lost, here or by
// those between, beyond whom this worker has a neighbour.
func (m *Membership) Host(peer topology.Rank, process uint64, exchange int, now time.Duration) bool {
	a := m.find(peer)
	if a == nil || len(m.sides[0].order) == 0 || m.full() {
		return false
	}
	s, at := m.towards(peer)
	if !a.gone && s.at <= at {
		return false
	}
	for _, rank := range s.order[:at] {
		if m.find(rank).on {
			return false
		}
	}
	m.seat(peer, exchange)
	a.process, a.hosted, a.patience = process, true, invitation
	a.link.up, a.link.finished, a.link.since = false, false, now
	m.acts = m.acts[:0]
	return true
}

// Missed notes that a process which Host has given an edge has not got its state.
func (m *Membership) Missed(peer topology.Rank, process uint64) {
	if a := m.get(peer); a.process == process {
		a.denied = true
	}
}

// Weight returns that of an edge that closes a gap.
func (m *Membership) Weight() float64 { return m.weight }

// renew takes a worker back that is another process by another sponsor. What was
// agreed with the last one is void.
func (m *Membership) renew(a *acquaintance) {
	a.void, a.gone, a.denied, a.link.finished = a.on, false, false, false
	m.unseat(a)
}

// unseat makes the side whose neighbour a was look for the nearest.
func (m *Membership) unseat(a *acquaintance) {
	for i := range m.sides {
		if s := &m.sides[i]; s.is(a.rank) {
			s.at = -1
		}
	}
}

// seat puts the edge with a worker on that is next to this one.
func (m *Membership) seat(peer topology.Rank, exchange int) {
	a := m.find(peer)
	a.on, a.gone, a.denied, a.edge.opened, a.tries = true, false, false, exchange, 0
	s, at := m.towards(peer)
	s.before, s.at = s.at, at
}

// towards returns the side on which a worker is nearer, and its place there.
func (m *Membership) towards(peer topology.Rank) (*side, int) {
	up, down := slices.Index(m.sides[0].order, peer), slices.Index(m.sides[1].order, peer)
	if up <= down {
		return &m.sides[0], up
	}
	return &m.sides[1], down
}

// insert takes in who has come back between this worker and its neighbour of a
// side, and parts with that.
func (m *Membership) insert(s *side, now *acquaintance, w Moment) {
	for at, rank := range s.order[:s.at] {
		a := m.find(rank)
		if a.on || a.gone || !a.link.up || a.said.wants < 0 && a.said.offers < 0 || !m.agree(a, w, margin) {
			continue
		}
		s.before, s.at = s.at, at
		if now.on && now.edge.until < 0 {
			now.edge.parts, now.edge.until = true, max(w.Next, a.edge.opened)+2 // the neighbour is at most one exchange ahead
			m.tell(now, Part, now.edge.until)
			m.acts = append(m.acts, Act{Kind: Close, Peer: now.rank, Exchange: now.edge.until})
		}
		return
	}
}

// part takes an edge off as its other end wants, and forgets it when the exchanges
// that it still had are over.
func (m *Membership) part(a *acquaintance, w Moment) {
	if a.edge.closing {
		a.edge.closing = false
		m.acts = append(m.acts, Act{Kind: Close, Peer: a.rank, Exchange: a.edge.until})
	}
	if a.edge.until >= 0 && w.Next > a.edge.until {
		a.on, a.edge, a.said.told = false, always(), false
		m.unseat(a) // the other end has found somebody, this one has not
	}
}
