package replay

import (
	"cmp"
	"math"
	"slices"

	"gossiptrainer/gossip"
	"gossiptrainer/topology"
)

// everything is a size that nothing exceeds; never is a place that no worker reaches.
const (
	everything = math.MaxInt64
	never      = math.MaxInt
)

// A delivery is how a neighbour gets the messages of this worker.
//
//	state     meaning                                        event                      next
//	away      there is no link                               they meet                  behind
//	behind    messages come from the log, as it has room     it is where both are       catching
//	                                                         in step
//	catching  messages come from the log, all there are      it has them all            level
//	level     a message is sent as soon as it is there
//	any                                                      the link ends              away
//
// A neighbour that receives no messages of this worker is level at once.
type delivery uint8

const (
	away delivery = iota
	behind
	catching
	level
)

// A telling says which places of this worker a neighbour learns.
//
//	state   meaning                                    event                         next
//	silent  none: both are in step, or the neighbour
//	        never receives messages                    they meet                     each, or seldom
//	each    every place                                this worker is where both     silent
//	                                                   are in step
//	seldom  a new one before the last one told
//	        leaves it too little room: on a one-way
//	        edge neither end knows to be in step
type telling uint8

const (
	silent telling = iota
	each
	seldom
)

// A neighbour is the progress of one neighbour, in slots.
type neighbour struct {
	rank          topology.Rank
	hears, speaks bool // it ever receives messages of this worker; it ever sends messages to this worker
	loose         bool // neither end knows to be in step, as on a one-way edge

	gets  delivery
	had   int // it may have had the messages before this slot, and their repairs, on earlier links
	next  int // the slot of its next message, unless level
	room  int // the first slot that it cannot take yet, while behind
	until int // the place from which on both are in step, or never

	tells telling
	knows int // the last place of this worker that it was told

	safety
	recalled recalled // repairs that the log has sent on this link
	owed     owed     // repairs that the log needs
	requests
}

// Requests are those for repairs, of both ends.
type requests struct {
	early []gossip.Frame // of the neighbour, for a message that does not exist yet
	asked int            // the slot of the newest message of the neighbour that needs one, and one
}

// A safety is how far a neighbour may go back.
type safety struct {
	durable int  // the place of its oldest known checkpoint, or gossip.Undurable
	pressed bool // it was asked for a newer one; false where the log is in memory, and always has room
}

// An owed is the next piece whose repair the log needs, and the slot with which they end.
type owed struct{ slot, piece, end int }

// A recalled holds the repairs that the log has sent on a link: all of older slots, and some pieces of one slot. A
// neighbour asks for repairs slot by slot.
type recalled struct {
	slot   int
	pieces map[int]bool // of slot
}

// enter notes the repair of a piece, and reports whether it is new.
func (r *recalled) enter(slot, piece int) bool {
	if slot < r.slot || slot == r.slot && r.pieces[piece] {
		return false
	}
	if slot > r.slot || r.pieces == nil {
		r.slot, r.pieces = slot, make(map[int]bool)
	}
	r.pieces[piece] = true
	return true
}

// ask keeps a request for a piece of a message that does not exist yet. The neighbour waits for one message at a time.
func (n *neighbour) ask(f gossip.Frame) {
	if len(n.early) > 0 && (n.early[0].Round != f.Round || n.early[0].Hop != f.Hop) {
		n.early = n.early[:0]
	}
	if !slices.ContainsFunc(n.early, func(e gossip.Frame) bool { return e.Piece == f.Piece }) {
		n.early = append(n.early, f)
	}
}

// neighbours returns the neighbours of a worker in increasing rank.
func neighbours(rows topology.Sequence) []neighbour {
	var all []neighbour
	if rows.Period() != 1 {
		for _, rank := range rows.Neighbours() {
			all = append(all, neighbour{rank: rank, hears: true, speaks: true, loose: true})
		}
		return all
	}
	row := rows.At(0)
	at := func(rank topology.Rank) *neighbour {
		order := func(n neighbour, r topology.Rank) int { return cmp.Compare(n.rank, r) }
		i, found := slices.BinarySearchFunc(all, rank, order)
		if !found {
			all = slices.Insert(all, i, neighbour{rank: rank})
		}
		return &all[i]
	}
	for _, rank := range row.Out {
		at(rank).hears = true
	}
	for _, e := range row.In {
		at(e.Peer).speaks = true
	}
	return all
}

// meet begins a link.
func (n *neighbour) meet(m gossip.Meeting, lead int) {
	n.durable, n.pressed = m.Durable, false
	n.next, n.had, n.room, n.until = m.Theirs, m.Theirs+lead+1, m.Theirs+lead+1, never
	n.gets, n.tells, n.knows = level, silent, m.Ours
	n.recalled, n.early, n.owed = recalled{}, nil, owed{}
	if n.hears {
		n.gets = behind
	}
	switch {
	case n.loose:
		n.tells = seldom
	case n.hears && n.speaks:
		n.tells, n.until = each, max(m.Theirs, m.Ours)+lead+1
	case n.speaks:
		n.tells = seldom
	}
}

// at enters the place of the neighbour.
func (n *neighbour) at(place, lead int) {
	n.room = max(n.room, place+lead+1)
	if n.gets == behind && place >= n.until {
		n.gets = catching
	}
}

// takes reports whether it can take the message of a slot.
func (n *neighbour) takes(slot int) bool { return n.gets == catching || slot < n.room }

// lacks reports whether the log has messages before slot next for it.
func (n *neighbour) lacks(next int) bool {
	return (n.gets == behind || n.gets == catching) && n.next < next
}

// dueAt reports whether it must learn a place of this worker.
func (n *neighbour) dueAt(place, lead int, moved bool) bool {
	switch {
	case n.gets == away || !moved && n.knows == place:
		return false
	case n.tells == seldom:
		return place-n.knows >= max(1, lead-1)
	}
	return n.tells == each
}

// told notes that it has learnt a place.
func (n *neighbour) told(place int) {
	n.knows = place
	if place >= n.until {
		n.tells = silent
	}
}
