package elastic

import (
	"slices"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/topology"
)

// A Membership decides which edges one worker has while others are lost and come back. In a ring it also finds the
// worker that closes a gap. It opens no link and reads no clock: a driver reports events and carries out the acts that
// Step returns.
//
// Only the two ends of an edge decide about it. A worker takes an edge off when it waits for the neighbour and their
// link has been down for a grace. The edge is off from the exchange in which the worker is stuck. If the neighbour
// lives, it does the same, or learns of it when it calls. So at most Lead + 1 exchanges are mixed by one end only. No
// other weight changes: W stays symmetric and doubly stochastic, and no agreement of all workers is needed.
//
// In a ring both ends of a gap look for each other. Each calls the workers beyond the lost one, and wants an edge with
// the nearest that answers. When both want it, the lower rank names the exchange from which it is on: the first that
// neither has sent. Both are stuck until then, so parts of a ring with several gaps do not drift apart.
//
//	Want(e)   to both: I want the edge; e is the first exchange that I have not sent
//	On(e)     to the higher rank: the edge is on from exchange e
//	Off       to the lower rank: the edge is not on; I am beyond e, or have another neighbour
//	Part(e)   to a neighbour: our edge is off from exchange e, a worker between us is back
//
// After Off the higher rank says Want again if it still wants the edge. A new link forgets the words of the last one.
// Only On and Part are said again on each new link while the edge is on. So a lost On is answered in the end: either
// the link stays down and the edge is taken off, or the answer is Off. No worker waits for ever.
type Membership struct {
	self      topology.Rank
	weight    float64 // of an edge that closes a gap
	sides     [2]side // without workers unless the graph is a ring
	relations []relation
	acts      []Act
	now       Moment // of the last Step
}

// A side lists all other workers of a ring in the order in which they follow. The
// neighbour is order[near-1], and order[near:] are the workers beyond it; near is 0
// as long as the side has no neighbour.
type side struct {
	order  []topology.Rank
	near   int
	before int           // near before the present neighbour closed the gap
	looks  bool          // for another neighbour
	began  time.Duration // to look
}

// A Verb is a word of one Membership to another.
type Verb int

// Verbs.
const (
	Want Verb = iota
	On
	Off
	Part
)

// An ActKind is a kind of Act.
type ActKind int

// Kinds of acts.
const (
	Call  ActKind = iota // make a link to Peer, which is no neighbour
	Cut                  // take the edge off: Elastic.Cut
	Open                 // put Edge on from Exchange on: Elastic.Open
	Close                // take the edge off from Exchange on: Elastic.Close
	Tell                 // say Verb with Exchange on the link to Peer, before frames that are sent later
)

// An Act is one thing that a driver has to do, in order.
type Act struct {
	Kind     ActKind
	Peer     topology.Rank
	Edge     topology.Edge // Open
	Verb     Verb          // Tell
	Exchange int           // Open, Close, Tell: ≥ 0
}

// A Moment is the situation of a worker when Step is called.
type Moment struct {
	Now   time.Duration // since the run began
	Grace time.Duration // how long a link may be down, > 0
	Next  int           // Elastic.Next
	// Exchanges is the number of exchanges of the run, as planned; 0: it is not known.
	Exchanges int
	Waiting   []topology.Rank // Ready.Waiting
	Free      bool            // the worker waits for no neighbour, and takes off every edge whose link stays down
}

// NewMembership returns the membership of a worker with the edges of row. closing
// is nil in graphs whose gaps stay open.
func NewMembership(self topology.Rank, row topology.Row, closing *topology.Closing) *Membership {
	m := &Membership{self: self}
	for _, e := range row.In {
		r := m.get(e.Peer)
		r.edge.state = given
		r.link.expect(0, meeting)
	}
	if closing != nil {
		m.weight = closing.Weight
		m.sides = [2]side{{order: closing.Up, near: 1}, {order: closing.Down, near: 1}}
		for _, rank := range closing.Up {
			m.get(rank)
		}
	}
	return m
}

// Begin notes when the worker begins, on the clock of Step. From then on it expects its
// first links.
func (m *Membership) Begin(now time.Duration) {
	for i := range m.relations {
		if l := &m.relations[i].link; l.state == expected {
			l.since = now
		}
	}
}

// get returns the relation to a worker, which is made if there is none. In a ring
// all are made at the beginning, so pointers to them stay valid.
func (m *Membership) get(rank topology.Rank) *relation {
	if r := m.find(rank); r != nil {
		return r
	}
	m.relations = append(m.relations, relation{rank: rank})
	return &m.relations[len(m.relations)-1]
}

// find returns the relation to a worker, nil if there is none.
func (m *Membership) find(rank topology.Rank) *relation {
	i := slices.IndexFunc(m.relations, func(r relation) bool { return r.rank == rank })
	if i < 0 {
		return nil
	}
	return &m.relations[i]
}

// Up notes a new link to peer. process names the process at its other end, ≠ 0. In a ring a new process knows nothing
// of an edge to the last process. Up then takes that edge off, and Gone is false again.
func (m *Membership) Up(peer topology.Rank, process uint64) {
	r := m.get(peer)
	if r.process != 0 && r.process != process && m.ring() {
		r.renew()
		m.unseat(r)
	}
	r.process, r.talk = process, talk{}
	r.link.meet()
	if r.edge.state == hosted {
		r.invited = 0
	}
}

// Down notes that the link to peer was lost.
func (m *Membership) Down(peer topology.Rank, now time.Duration) {
	r := m.get(peer)
	r.talk = talk{}
	r.link.lose(now)
}

// Finished notes that peer has done all its rounds and said so.
func (m *Membership) Finished(peer topology.Rank) { m.get(peer).link.state = finished }

// Denied notes that peer does not take this worker back.
func (m *Membership) Denied(peer topology.Rank) { m.get(peer).denied = true }

// Heard notes a word of peer, with the exchange that it named. It refuses a word that no honest worker says with
// gossip.ErrNoSuchEdge. It returns gossip.ErrUnasked for a word that is late or has no reason. A few such words may
// follow the loss of a link, but a worker that says many of them wants answers without end.
func (m *Membership) Heard(peer topology.Rank, verb Verb, exchange int) error {
	r := m.find(peer)
	if r == nil || !m.ring() || verb < Want || verb > Part || m.impossible(r, verb, exchange) {
		return gossip.ErrNoSuchEdge
	}
	unasked := r.unasked(verb, exchange, m.now.Next)
	if !unasked || verb == On { // after On the other end must learn that there is no edge
		r.hear(verb, exchange)
	}
	if unasked {
		return gossip.ErrUnasked
	}
	return nil
}

// impossible reports whether no honest worker names the exchange.
func (m *Membership) impossible(r *relation, verb Verb, exchange int) bool {
	latest := m.now.Exchanges
	if verb == On || verb == Part {
		latest += margin + margin<<widest + parted
	}
	switch {
	case exchange < 0, m.now.Exchanges > 0 && exchange > latest, verb == On && m.self < r.rank:
		return true
	}
	return verb == Part && r.edge.on() && exchange < m.now.Next-1
}

// Neighbour reports whether there is an edge to peer.
func (m *Membership) Neighbour(peer topology.Rank) bool {
	r := m.find(peer)
	return r != nil && r.edge.on()
}

// Alone reports whether there is no edge.
func (m *Membership) Alone() bool {
	return !slices.ContainsFunc(m.relations, func(r relation) bool { return r.edge.on() })
}

// Freed notes that an edge that was taken off may have a message before an exchange. There is no new one before that.
func (m *Membership) Freed(peer topology.Rank, exchange int) {
	r := m.get(peer)
	r.earliest = max(r.earliest, exchange)
}

// Gone reports whether this worker has lost the process of peer for good.
func (m *Membership) Gone(peer topology.Rank) bool {
	r := m.find(peer)
	return r != nil && r.edge.state == lost
}

// ring reports whether gaps are closed.
func (m *Membership) ring() bool { return len(m.sides[0].order) > 0 }
