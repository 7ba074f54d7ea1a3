// Package elastic lets a worker go on without neighbours that are lost, and takes a worker
// of a ring back that was lost. An Elastic is the layer that does it around a machine; its
// Membership decides, edge by edge.
package elastic

import (
	"slices"
	"time"

	"gossiptrainer/topology"
)

// A Membership is one worker's part in going on without neighbours that are
// lost: it decides when an edge is off, and in a ring finds who closes the gap.
// It opens no link and reads no clock; a driver tells it what happens and does
// what Step says.
//
// An edge is a matter of its two ends alone. The one whose neighbour's link has
// been down for longer than the grace, and who waits for it, takes the edge off
// from the exchange that it is stuck in. The other, if it lives, does the same,
// or is told when it calls: the exchanges in which only one end mixed are at most
// Lead + 1. Weights of other edges stay, so W is symmetric and doubly stochastic
// whatever others know, and nothing has to be agreed on by all.
//
// In a ring both ends of a gap look for each other: each calls those beyond the
// lost one, and wants an edge with the nearest that answers. When both want it,
// the lower rank says from which exchange on: the first that neither has sent.
// Both hold still meanwhile, for they are stuck: so that the parts of a ring with
// several gaps do not drift apart.
//
//	Want(e)   to both: I want the edge; e is the first exchange that I have not sent
//	On(e)     to the higher rank: the edge is on from exchange e
//	Off       to the lower: it is not, I am beyond that, or have someone else
//	Part(e)   of a neighbour: the edge is off from exchange e, someone is between us
//
// After Off the higher rank says again what it wants, if it does. What is said on
// a link is forgotten with the link: until both ends have mixed a message of the
// edge, On is said again on the next. A lost On that its end waits for is an edge
// whose link is down, or is answered by Off: nobody waits for ever.
type Membership struct {
	self   topology.Rank
	weight float64 // of an edge that closes a gap
	sides  [2]side // none but in a ring
	peers  []acquaintance
	acts   []Act
}

// A side of a worker in a ring: all others in the order in which they follow.
// order[at] is the neighbour; at is −1 where there has been none yet.
type side struct {
	order  []topology.Rank
	at     int
	before int           // the at whose gap the present neighbour closes
	looks  bool          // for another neighbour
	began  time.Duration // of that
}

// An acquaintance is a worker with whom there is an edge, or may be a link.
type acquaintance struct {
	rank     topology.Rank
	process  uint64 // that it was on the last link, 0 before the first
	link     contact
	said     words
	edge     period
	on       bool // there is an edge
	void     bool // the edge was with a process that is no more
	hosted   bool // this worker is its sponsor
	gone     bool // there was an edge; this process is not taken back
	denied   bool // it does not take this worker back
	rest     int  // the first exchange in which a new edge can be spoken of, after a void one
	patience int  // graces that it may take to come, 0: one
	tries    int  // how often it said Off
}

// A contact is how the link with an acquaintance is.
type contact struct {
	up       bool
	called   bool          // this worker has called it
	finished bool          // it has done all its rounds
	since    time.Duration // of up
}

// Words are what was said on the present link, or is to be said on it.
type words struct {
	told    bool // Want was said
	wants   int  // the exchange of its last Want, or unsaid
	offers  int  // the exchange of its On that has no answer, or unsaid
	refuses bool // it said Off
	again   bool // On may have been lost with the last link
}

// A period is the exchanges in which an edge is on.
type period struct {
	opened  int  // the exchange from which this worker has put it on, or unsaid if it was always
	until   int  // the exchange in which it is off as agreed, or unsaid
	parts   bool // this worker has said so
	closing bool // the other end said so, which is not done yet
}

// unsaid stands for an exchange that nobody has named.
const unsaid = -1

// silence is what is said on a new link.
func silence() words { return words{wants: unsaid, offers: unsaid} }

// always is the period of an edge that nobody has put on or off.
func always() period { return period{opened: unsaid, until: unsaid} }

// A Verb is what a Membership says to another.
type Verb int

// Verbs.
const (
	Want Verb = iota
	On
	Off
	Part
)

// An ActKind says what a driver has to do.
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
	Exchange int
}

// A Moment is how things are with a worker when Step is called.
type Moment struct {
	Now     time.Duration
	Grace   time.Duration   // how long a link may be down
	Next    int             // Elastic.Next
	Waiting []topology.Rank // Ready.Waiting
	Free    bool            // the worker waits for nobody: it goes on without those it does not wait for too
}

// NewMembership returns that of a worker with the edges of row. closing is nil
// where gaps are left open.
func NewMembership(self topology.Rank, row topology.Row, closing *topology.Closing) *Membership {
	m := &Membership{self: self}
	for _, e := range row.In {
		a := m.get(e.Peer)
		a.on, a.patience = true, meeting
	}
	if closing != nil {
		m.weight = closing.Weight
		m.sides = [2]side{{order: closing.Up}, {order: closing.Down}}
		for _, rank := range closing.Up {
			m.get(rank)
		}
	}
	return m
}

// get returns the acquaintance of that rank. In a ring, where they look for each
// other, all are there from the beginning.
func (m *Membership) get(rank topology.Rank) *acquaintance {
	if a := m.find(rank); a != nil {
		return a
	}
	m.peers = append(m.peers, acquaintance{rank: rank, said: silence(), edge: always()})
	return &m.peers[len(m.peers)-1]
}

func (m *Membership) find(rank topology.Rank) *acquaintance {
	i := slices.IndexFunc(m.peers, func(a acquaintance) bool { return a.rank == rank })
	if i < 0 {
		return nil
	}
	return &m.peers[i]
}

// Up notes that a link to peer was made. process tells those apart that have been
// that worker: in a ring another one than before has been given a place there, and
// knows nothing of an edge with the last. Who was done without is no longer Gone then.
func (m *Membership) Up(peer topology.Rank, process uint64, now time.Duration) {
	a := m.get(peer)
	if a.process != 0 && a.process != process && len(m.sides[0].order) > 0 {
		m.renew(a)
	}
	a.process = process
	a.relink(true, now)
	a.patience = 0
	a.said.again = a.on && !a.void && (a.edge.parts || a.edge.opened >= 0 && m.self < peer)
}

// Down notes that the link to peer was lost.
func (m *Membership) Down(peer topology.Rank, now time.Duration) { m.get(peer).relink(false, now) }

// relink forgets what was said on the last one.
func (a *acquaintance) relink(up bool, now time.Duration) {
	a.link.up, a.link.since = up, now
	a.said = silence()
}

// Finished notes that peer has done all its rounds and said so.
func (m *Membership) Finished(peer topology.Rank) {
	a := m.get(peer)
	a.link.up, a.link.finished = false, true
}

// Denied notes that peer does not take this worker back.
func (m *Membership) Denied(peer topology.Rank) { m.get(peer).denied = true }

// Heard notes what peer said.
func (m *Membership) Heard(peer topology.Rank, verb Verb, exchange int) {
	switch a := m.get(peer); verb {
	case Want:
		a.said.wants = exchange
		a.said.refuses = a.on && a.hosted // it has another sponsor
	case On:
		a.said.offers = exchange
	case Off:
		a.said.wants, a.said.refuses = unsaid, true
	case Part:
		if a.on && a.edge.until < 0 {
			a.edge.until, a.edge.closing = exchange, true
		}
	}
}

// Neighbour reports whether there is an edge to peer.
func (m *Membership) Neighbour(peer topology.Rank) bool {
	a := m.find(peer)
	return a != nil && a.on
}

// Alone reports whether there is no edge.
func (m *Membership) Alone() bool {
	return !slices.ContainsFunc(m.peers, func(a acquaintance) bool { return a.on })
}

// Gone reports whether peer was a neighbour and is none any more.
func (m *Membership) Gone(peer topology.Rank) bool {
	a := m.find(peer)
	return a != nil && a.gone
}
