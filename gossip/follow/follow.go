// Package follow decides which links a worker keeps open where it meets too many others to keep all. The schedule of
// meetings is known ahead, so a link is opened exchanges before it is needed:
//
//	links := follow.New(rows, 32, exchanges)
//	for s := range exchanges {
//		open, rest := links.At(s) // the links to open and to close when exchange s begins
//	}
//
// The package opens no link. Its answers depend on the schedule alone.
package follow

import (
	"slices"

	"gossiptrainer/topology"
)

// Default is how many links a worker keeps open, unless the run file says otherwise. It dials that many exchanges
// ahead, far longer than a handshake takes. A graph of up to 33 workers keeps all its links.
const Default = 32

// horizon is how many exchanges ahead a worker looks, in multiples of the links that it keeps. It bounds the search for
// different partners on small graphs.
const horizon = 2

// Links are those that a worker wants to be open.
type Links struct {
	rows   topology.Sequence
	most   int
	until  int             // the run has no exchange from this one on; 0: it is not known
	wanted []topology.Rank // in increasing rank

	near, next []topology.Rank // partners of the coming exchanges, in the order of meeting
	open, rest []topology.Rank
}

// New returns the links of a worker with these rows, which keeps at most this number open, and none at first. It
// returns nil if the worker never meets more others, or always the same: then all links stay open. The run has that
// number of exchanges; 0 if it is not known.
func New(rows topology.Sequence, most, exchanges int) *Links {
	if most <= 0 || rows.Period() == 1 || len(rows.Neighbours()) <= most {
		return nil
	}
	return &Links{rows: rows, most: most, until: exchanges}
}

// At returns the links to open and those that may rest, when the worker comes to exchange s. It opens those to the
// partners that it meets next. A link rests when its next meeting is later: a quarter of the links lies between the
// two, so that few of them rest only to be opened again. The slices are valid until the next call.
func (l *Links) At(s int) (open, rest []topology.Rank) {
	l.near = l.Next(l.near[:0], s, l.most-l.most/4)
	l.next = l.Next(l.next[:0], s, l.most)
	return l.set(l.near, l.next)
}

// Only wants the first of these links that there may be, and no other one.
func (l *Links) Only(these []topology.Rank) (open, rest []topology.Rank) {
	these = these[:min(len(these), l.most)]
	return l.set(these, these)
}

// set wants all of near, and keeps the wanted ones of next.
func (l *Links) set(near, next []topology.Rank) (open, rest []topology.Rank) {
	l.open, l.rest = l.open[:0], l.rest[:0]
	l.wanted = slices.DeleteFunc(l.wanted, func(r topology.Rank) bool {
		if slices.Contains(next, r) {
			return false
		}
		l.rest = append(l.rest, r)
		return true
	})
	room := l.most - len(l.wanted)
	for _, rank := range near {
		at, found := slices.BinarySearch(l.wanted, rank)
		if found || room == 0 {
			continue
		}
		room--
		l.wanted = slices.Insert(l.wanted, at, rank)
		l.open = append(l.open, rank)
	}
	return l.open, l.rest
}

// Wants reports whether the link to a worker is to be open.
func (l *Links) Wants(rank topology.Rank) bool {
	_, found := slices.BinarySearch(l.wanted, rank)
	return found
}

// Next appends the workers that this one meets first from exchange s on, in the order of meeting. It appends at most
// this number.
func (l *Links) Next(dst []topology.Rank, s, most int) []topology.Rank {
	end := s + horizon*l.most
	if l.until > 0 {
		end = min(end, l.until)
	}
	for at := s; at < end; at++ {
		for rank := range partners(l.rows.At(at)) {
			if len(dst) == most {
				return dst
			}
			if !slices.Contains(dst, rank) {
				dst = append(dst, rank)
			}
		}
	}
	return dst
}

// Last appends the workers that this one met in the exchanges before s, as far back as a neighbour can be behind.
// All others have finished all exchanges that they shared.
func (l *Links) Last(dst []topology.Rank, s int) []topology.Rank {
	for at := max(0, s-l.rows.Ahead()); at < s; at++ {
		for rank := range partners(l.rows.At(at)) {
			if !slices.Contains(dst, rank) {
				dst = append(dst, rank)
			}
		}
	}
	return dst
}

// partners yields the workers that a row names, some of them twice.
func partners(row topology.Row) func(yield func(topology.Rank) bool) {
	return func(yield func(topology.Rank) bool) {
		for _, e := range row.In {
			if !yield(e.Peer) {
				return
			}
		}
		for _, rank := range row.Out {
			if !yield(rank) {
				return
			}
		}
	}
}
