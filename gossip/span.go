package gossip

import (
	"cmp"
	"math"
	"slices"

	"gossiptrainer/algos"
	"gossiptrainer/topology"
)

// forever is the end of an edge without a known end.
const forever = math.MaxInt

// A span is an edge and the slots from ≤ s < until in which it is on.
type span struct {
	topology.Edge
	from, until int
	// early has the pieces of the message of slot from, if the sender was there long before this worker. The sender
	// cannot send another one before it has this worker's message.
	early []Frame
}

func (s span) is(slot int) bool { return s.from <= slot && slot < s.until }

// span returns the edge to a neighbour, nil if there never was one.
func (b *inbox) span(peer topology.Rank) *span {
	for i := range b.spans {
		if b.spans[i].Peer == peer {
			return &b.spans[i]
		}
	}
	return nil
}

// open adds an edge from a slot on; current is the oldest slot that is kept.
func (b *inbox) open(e topology.Edge, from, current int) {
	s := span{Edge: e, from: from, until: forever}
	if old := b.span(e.Peer); old != nil {
		*old = s
	} else {
		at, _ := slices.BinarySearchFunc(b.spans, e.Peer, func(s span, r topology.Rank) int { return cmp.Compare(s.Peer, r) })
		b.spans = slices.Insert(b.spans, at, s)
	}
	for slot := current; slot < current+b.slots; slot++ {
		b.lay(slot, nil)
	}
}

// cut takes an edge off from the first slot whose message, or its repair, is missing, and returns that slot. The oldest
// slot that is kept is current.
func (b *inbox) cut(s *span, current int, spent [][]byte) (int, [][]byte) {
	slot := max(current, s.from)
	for slot < current+b.slots && b.has(slot, s.Peer) {
		slot++
	}
	return slot, b.end(s, slot, current, spent)
}

// end takes an edge off from a slot on. It appends the payloads of later slots to spent.
func (b *inbox) end(s *span, slot, current int, spent [][]byte) [][]byte {
	s.until = slot
	if !s.is(s.from) {
		for _, f := range s.early {
			spent = append(spent, f.Payload)
		}
		s.early = nil
	}
	for at := current; at < current+b.slots; at++ {
		spent = b.lay(at, spent)
	}
	return spent
}

// has reports whether a neighbour's message can be mixed.
func (b *inbox) has(slot int, from topology.Rank) bool {
	x := b.at(slot)
	i := x.index(from)
	return i >= 0 && x.from[i].usable == len(x.pieces)
}

// stash keeps a message that is early because the edge begins with it.
func (b *inbox) stash(slot int, f Frame) error {
	switch s := b.span(f.From); {
	case s == nil || f.Kind != Data || slot != s.from || !s.is(slot):
		return ErrEarly
	case slices.ContainsFunc(s.early, func(e Frame) bool { return e.Piece == f.Piece }):
		return ErrDuplicate
	default:
		s.early = append(s.early, f)
		return nil
	}
}

// lay shapes the place of a slot for the edges that are on in it. It keeps the messages that have arrived and appends
// those of other edges to spent.
func (b *inbox) lay(slot int, spent [][]byte) [][]byte {
	x := b.at(slot)
	if b.edges.change {
		x.shape(b.edges.at(slot).In)
		return spent
	}
	if b.fits(x, slot) {
		return spent
	}
	old := *x
	*x = b.laidOut(slot)
	return b.move(&old, x, slot, spent)
}

// move gives the messages of a place that had other edges to the new one, and appends those of edges that are off to
// spent.
func (b *inbox) move(old, x *exchange, slot int, spent [][]byte) [][]byte {
	for at, m := range old.in {
		piece, i := at/len(old.from), at%len(old.from)
		switch j := x.index(m.From); {
		case !old.got[at]:
		case j < 0:
			spent = old.take(i, piece, spent)
		default:
			to := piece*len(x.from) + j
			x.in[to], x.got[to], x.wrong[to] = m, true, old.wrong[at]
			x.notes[0][j], x.notes[1][j], x.from[j].wrong = old.notes[0][i], old.notes[1][i], old.from[i].wrong
			if !x.wrong[to] || m.Repair != nil {
				x.count(j, piece, 1)
			}
		}
	}
	for i := range b.spans {
		if s := &b.spans[i]; s.from == slot {
			for _, f := range s.early {
				_ = b.put(slot, f) // cannot fail: the place is new and empty
			}
			s.early = nil
		}
	}
	return spent
}

// fits reports whether x has a place for exactly the edges that are on in a slot.
func (b *inbox) fits(x *exchange, slot int) bool {
	n := 0
	for _, s := range b.spans {
		if !s.is(slot) {
			continue
		}
		if n >= len(x.from) || x.from[n].rank != s.Peer {
			return false
		}
		n++
	}
	return n == len(x.from)
}

// laidOut returns an empty exchange for the edges that are on in a slot.
func (b *inbox) laidOut(slot int) exchange {
	x := exchange{pieces: make([]parcel, b.pieces), left: b.pieces, each: b.pieces / b.lanes}
	add := func(e topology.Edge) {
		x.from = append(x.from, sender{rank: e.Peer})
		x.in = append(x.in, algos.Message{From: e.Peer, Weight: float32(e.Weight)})
	}
	if b.edges.change {
		for _, e := range b.edges.at(slot).In {
			add(e)
		}
	}
	for _, s := range b.spans {
		if s.is(slot) {
			add(s.Edge)
		}
	}
	x.notes[0], x.notes[1] = make([]uint32, len(x.in)), make([]uint32, len(x.in))
	x.in = slices.Repeat(x.in, b.pieces)
	x.got, x.wrong = make([]bool, len(x.in)), make([]bool, len(x.in))
	return x
}
