package elastic

import (
	"slices"
	"time"

	"gossiptrainer/topology"
)

// A lost worker may come back to a ring as another process. Its sponsor is next to it in the rest of the ring. The
// sponsor gives the newcomer its own state as of the beginning of an exchange, and the two have an edge from there on.
// On the other side the newcomer finds its neighbour as every worker does at a gap. The two old neighbours then part.
// All edges keep their weights, so W stays doubly stochastic. While the old edge is on besides the new ones, its two
// ends have three edges.

// NewGuest returns the membership of a worker that has come back. Its one edge is to
// its sponsor, from an exchange on.
func NewGuest(self, sponsor topology.Rank, closing *topology.Closing, at Seat) *Membership {
	m := NewMembership(self, topology.Row{}, closing)
	m.sides[0].near, m.sides[1].near = 0, 0
	r := m.seat(sponsor, edge{state: agreed, from: at.From})
	r.process = at.Process
	r.link.expect(0, held)
	return m
}

// Host gives a worker that has come back as another process an edge from an exchange on, and reports whether it could.
// It needs a free place for an edge. No neighbour may be nearer on that side, and the worker must be lost. It is lost
// if this worker has given it up, or has a neighbour beyond it. A worker that was given an edge a few times and never
// came gets none: this worker waits for it each time.
func (m *Membership) Host(peer topology.Rank, process uint64, exchange int, now time.Duration) bool {
	r := m.find(peer)
	if r == nil || !m.ring() || m.full() || exchange < r.earliest || r.invited >= invitations {
		return false
	}
	s, at := m.towards(peer)
	if r.edge.state != lost && s.near <= at+1 {
		return false
	}
	for _, rank := range s.order[:at] {
		if m.find(rank).edge.on() {
			return false
		}
	}
	m.seat(peer, edge{state: hosted, from: exchange}).link.expect(now, invitation)
	r.process = process
	r.invited++
	return true
}

// Missed notes that a process which Host has given an edge did not receive its state.
func (m *Membership) Missed(peer topology.Rank, process uint64) {
	if r := m.get(peer); r.process == process {
		r.denied = true
	}
}

// Weight returns the weight of an edge that closes a gap.
func (m *Membership) Weight() float64 { return m.weight }

// unseat makes the side whose neighbour r was look for the nearest worker.
func (m *Membership) unseat(r *relation) {
	for i := range m.sides {
		if s := &m.sides[i]; s.is(r.rank) {
			s.near = 0
		}
	}
}

// seat puts the edge on to a worker that is next to this one.
func (m *Membership) seat(peer topology.Rank, e edge) *relation {
	r := m.find(peer)
	r.edge, r.denied, r.refusals = e, false, 0
	s, at := m.towards(peer)
	s.before, s.near = s.near, at+1
	return r
}

// towards returns the side on which a worker is nearer, and its place in the order.
func (m *Membership) towards(peer topology.Rank) (*side, int) {
	up, down := slices.Index(m.sides[0].order, peer), slices.Index(m.sides[1].order, peer)
	if up <= down {
		return &m.sides[0], up
	}
	return &m.sides[1], down
}

// insert takes in a worker that has come back between this worker and its neighbour
// of a side, and parts with that neighbour.
func (m *Membership) insert(s *side, now *relation, w Moment) {
	for at, rank := range s.order[:s.near-1] {
		r := m.find(rank)
		asks := r.edge.state == apart && r.link.exists() && r.talk.theirs != silent
		if !asks || !m.agree(r, w, margin) {
			continue
		}
		s.before, s.near = s.near, at+1
		if now.edge.on() && now.edge.end == lasting {
			now.edge.end, now.edge.until = parting, max(w.Next, r.edge.from)+parted
			m.tell(now, Part, now.edge.until)
			m.acts = append(m.acts, Act{Kind: Close, Peer: now.rank, Exchange: now.edge.until})
		}
		return
	}
}

// part takes an edge off as its other end wants. When the last exchange of the edge is
// over, it forgets the edge.
func (m *Membership) part(r *relation, w Moment) {
	if r.edge.end == noticed {
		r.edge.end = closing
		m.acts = append(m.acts, Act{Kind: Close, Peer: r.rank, Exchange: r.edge.until})
	}
	if r.edge.end != lasting && (w.Free || w.Next > r.edge.until) {
		r.edge, r.talk.wanted = edge{}, false
		m.unseat(r) // the other end has a new neighbour, this one does not
	}
}
