package elastic

import (
	"slices"
	"time"

	"gossiptrainer/topology"
)

// A relation is the knowledge of this worker about another one that is a neighbour or may become one.
type relation struct {
	rank     topology.Rank
	process  uint64 // on the last link; 0 before the first link
	denied   bool   // this process does not take the worker back
	link     link
	talk     talk
	edge     edge
	earliest int // no new edge is agreed on before this exchange
	refusals int // Off messages received since this worker last sponsored the other one
	invited  int // edges that Host has given to processes that did not come
}

// mostRefusals is how many Off messages make sense: the margin has long stopped to grow.
const mostRefusals = 64

// An edge is the edge to another worker.
//
//	state     meaning                                        event                                  next
//	apart     there is no edge; the two may agree on one     both want it                           agreed
//	                                                         this worker sponsors the other         hosted
//	given     on since the first exchange, by the graph
//	agreed    on from an exchange that both know             Off arrives                            refused
//	hosted    the same, and this worker is the sponsor       Off arrives, or Want while the edge    refused
//	                                                         is lasting: the other one has a
//	                                                         second sponsor
//	given, agreed, hosted                                    the exchange named by Part has passed  apart
//	                                                         this worker goes on without the other  lost
//	                                                         another process takes its place        outdated
//	refused   the other end does not have the edge           the next Step takes the edge off       apart
//	outdated  the other end was an earlier process           the next Step takes the edge off       apart
//	lost      the edge is off for good                       another process takes its place        apart
//	                                                         this worker sponsors the other         hosted
//
// A lost edge stays off while the other process lives, even if a link to it comes up again. The two agreed on that link
// before this worker gave up. The driver is about to end the link and to refuse all later ones. So a lost process
// counts as absent. This worker neither wants an edge with it nor answers its Want, and looks for a neighbour beyond
// it.
type edge struct {
	state edgeState
	from  int // the first exchange of an edge that is agreed or hosted
	end   ending
	until int // the exchange from which the edge is off; only if end is not lasting
}

type edgeState uint8

const (
	apart edgeState = iota
	given
	agreed
	hosted
	refused
	outdated
	lost
)

// An ending says whether the two ends have agreed to take their edge off.
//
//	state    meaning                                         event                             next
//	lasting  there is no agreement                           this worker says Part             parting
//	                                                         Part arrives                      noticed
//	parting  this worker has said Part, and says it again
//	         on each new link
//	noticed  the other end has said Part                     the next Step tells the driver    closing
//	closing  the driver knows the exchange
type ending uint8

const (
	lasting ending = iota
	parting
	noticed
	closing
)

// on reports whether this worker has the edge.
func (e edge) on() bool { return e.state != apart && e.state != lost }

// dated reports whether the edge begins with the exchange e.from.
func (e edge) dated() bool { return e.state == agreed || e.state == hosted }

// A link is the link to another worker.
//
//	state     meaning                                            event                     next
//	down      there is none                                      a link is made            fresh
//	expected  the process has had no link yet, and may take      a link is made            fresh
//	          longer than a grace to make one
//	fresh     words of the last link are not repeated yet        the next Step             up
//	up        there is one
//	fresh, up                                                    the link is lost          down
//	down, expected, fresh, up                                    all rounds are done       finished
//	finished  the process has done all its rounds                another process is met    fresh
//	any                                                          this worker sponsors it   expected
type link struct {
	state    linkState
	called   bool          // this worker has called the other one
	since    time.Duration // when the link went down, or was first expected
	patience int           // how many graces an expected link may take, ≥ 1
}

type linkState uint8

const (
	down linkState = iota
	expected
	fresh
	up
	finished
)

// exists reports whether words can be sent over the link.
func (l *link) exists() bool { return l.state == fresh || l.state == up }

// expect begins to wait for the first link of a process.
func (l *link) expect(now time.Duration, patience int) {
	l.state, l.since, l.patience = expected, now, patience
}

// meet notes a new link.
func (l *link) meet() {
	if l.state != finished {
		l.state = fresh
	}
}

// lose notes that a link was lost, or that none could be made.
func (l *link) lose(now time.Duration) {
	l.since = now
	if l.exists() {
		l.state = down
	}
}

// missing returns for how long there has been no link to a worker that still needs one.
func (l *link) missing(now time.Duration) time.Duration {
	if l.state == down || l.state == expected {
		return now - l.since
	}
	return 0
}

// graces returns how many graces the link may be missing.
func (l *link) graces() time.Duration {
	if l.state == expected {
		return time.Duration(l.patience)
	}
	return 1
}

// A talk holds the words of the two ends on the present link.
//
//	theirs  meaning                                         event                                   next
//	silent  the other end wants no edge                     Want arrives                            wants
//	wants   it wants an edge, and has not sent exchange     Off arrives, or the edge is on          silent
//	silent, wants                                           On arrives                              offers
//	offers  it has put the edge on from exchange            the edge is on, from the same exchange  silent
//	                                                        the next Step answers Off               wants
type talk struct {
	wanted   bool // this worker has said Want
	theirs   plea
	exchange int // that the other end has named; not if it is silent
}

type plea uint8

const (
	silent plea = iota
	wants
	offers
)

// unasked reports whether this worker has given the other one no reason for a word, or whether an On comes too late.
// This worker has sent nothing of exchange next yet.
func (r *relation) unasked(verb Verb, exchange, next int) bool {
	switch verb {
	case On:
		return !(r.edge.dated() && r.edge.from == exchange) && (!r.talk.wanted || exchange < next)
	case Off:
		return !r.edge.dated() || r.refusals >= mostRefusals
	case Part:
		return !r.edge.on()
	}
	return false
}

// hear takes in a word of the other worker.
func (r *relation) hear(verb Verb, exchange int) {
	switch verb {
	case Want:
		r.talk.theirs, r.talk.exchange = wants, exchange
		if r.edge.state == hosted && r.edge.end == lasting {
			r.refuse()
		}
	case On:
		r.talk.theirs, r.talk.exchange = offers, exchange
	case Off:
		r.talk.theirs = silent
		r.refuse()
	case Part:
		if r.edge.on() && r.edge.end == lasting {
			r.edge.end, r.edge.until = noticed, exchange
		}
	}
}

// refuse notes that the other end does not have the edge. An edge of the graph is there all
// the same: its ends never agree on it.
func (r *relation) refuse() {
	r.refusals = min(r.refusals+1, mostRefusals)
	if r.edge.dated() {
		r.edge.state = refused
	}
}

// renew notes that the worker is another process, with which nothing is agreed.
func (r *relation) renew() {
	if r.edge.on() {
		r.edge = edge{state: outdated}
	} else {
		r.edge = edge{}
	}
	r.denied = false
	if r.link.state == finished {
		r.link.state = down
	}
}

// hopeless reports whether this worker can go on only without the other one.
func (r *relation) hopeless(w Moment) bool {
	late := r.denied || r.link.missing(w.Now) >= w.Grace*r.link.graces()
	return r.edge.state == lost || r.edge.on() && late && (w.Free || slices.Contains(w.Waiting, r.rank))
}
