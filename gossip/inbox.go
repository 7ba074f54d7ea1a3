package gossip

import (
	"cmp"
	"slices"

	"gossiptrainer/algos"
	"gossiptrainer/topology"
)

// An inbox holds the messages of the exchanges from the current one on: slot s is in exchanges[s mod len(exchanges)].
// After newInbox it allocates only where edges go off or on.
type inbox struct {
	exchanges []exchange
	spans     []span // in increasing rank
}

// An exchange holds the messages of one slot in the order of the row. That order is by increasing rank, as algorithms
// require.
type exchange struct {
	in    []algos.Message
	notes []uint32 // for a Noter
	marks []mark   // for an Agreement
	got   []bool   // whether each has arrived; an empty payload is a payload
	n     int      // number of messages that have arrived
	wrong []bool   // which of them need their Repair
	lacks int      // number of those without one
}

func newInbox(in []topology.Edge, slots int) inbox {
	b := inbox{exchanges: make([]exchange, slots)}
	for _, e := range in {
		b.spans = append(b.spans, span{Edge: e, until: forever})
	}
	for slot := range b.exchanges {
		b.exchanges[slot] = b.laidOut(slot)
	}
	return b
}

func (b *inbox) at(slot int) *exchange { return &b.exchanges[slot%len(b.exchanges)] }

// put keeps the message of a neighbour.
func (b *inbox) put(slot int, f Frame) error {
	x := b.at(slot)
	i := x.index(f.From)
	if i < 0 {
		return ErrStranger
	}
	if x.got[i] {
		return ErrDuplicate
	}
	x.in[i].Payload, x.notes[i], x.marks[i], x.got[i] = f.Payload, uint32(f.Note), mark(f.Note>>32), true
	x.n++
	return nil
}

// suspect notes that the message of a neighbour needs its repair, unless it has one or has not arrived.
func (b *inbox) suspect(slot int, from topology.Rank) bool {
	x := b.at(slot)
	i := x.index(from)
	if i < 0 || !x.got[i] || x.wrong[i] {
		return false
	}
	x.wrong[i] = true
	x.lacks++
	return true
}

// lacks reports whether the repair of a neighbour's message is missing.
func (b *inbox) lacks(slot int, from topology.Rank) bool {
	x := b.at(slot)
	i := x.index(from)
	return i >= 0 && x.wrong[i] && x.in[i].Repair == nil
}

// mend keeps the repair of a neighbour's message.
func (b *inbox) mend(slot int, from topology.Rank, repair []byte) error {
	x := b.at(slot)
	i := x.index(from)
	switch {
	case i < 0:
		return ErrStranger
	case !x.wrong[i]:
		return ErrUnasked
	case x.in[i].Repair != nil:
		return ErrDuplicate
	case repair == nil:
		repair = []byte{}
	}
	x.in[i].Repair = repair
	x.lacks--
	return nil
}

// complete reports whether all neighbours' messages have arrived, with the repairs that they need.
func (b *inbox) complete(slot int) bool {
	x := b.at(slot)
	return x.n == len(x.in) && x.lacks == 0
}

// repaired returns how many messages of a complete slot needed repair.
func (b *inbox) repaired(slot int) int {
	n := 0
	for _, wrong := range b.at(slot).wrong {
		if wrong {
			n++
		}
	}
	return n
}

// messages returns the messages of a complete slot.
func (b *inbox) messages(slot int) []algos.Message { return b.at(slot).in }

// bound limits the magnitudes that the messages of a slot may have.
func (b *inbox) bound(slot int, limit float32) {
	for i := range b.at(slot).in {
		b.at(slot).in[i].Limit = limit
	}
}

// clear empties a complete slot and appends its payloads to spent. The slot after the last one kept takes its place.
func (b *inbox) clear(slot int, spent [][]byte) [][]byte {
	x := b.at(slot)
	for i := range x.in {
		spent = x.take(i, spent)
	}
	return b.lay(slot+len(b.exchanges), spent)
}

// discard removes one message, if it has arrived, and appends its payloads to spent.
func (b *inbox) discard(slot int, from topology.Rank, spent [][]byte) (_ [][]byte, ok bool) {
	x := b.at(slot)
	i := x.index(from)
	if i < 0 || !x.got[i] {
		return spent, false
	}
	return x.take(i, spent), true
}

// take removes message i, which has arrived, and appends its payloads to spent.
func (x *exchange) take(i int, spent [][]byte) [][]byte {
	m := &x.in[i]
	spent = append(spent, m.Payload)
	switch {
	case m.Repair != nil:
		spent = append(spent, m.Repair)
	case x.wrong[i]:
		x.lacks--
	}
	m.Payload, m.Repair, x.notes[i], x.marks[i], x.got[i], x.wrong[i] = nil, nil, 0, 0, false, false
	x.n--
	return spent
}

// appendMissing appends to dst the neighbours whose messages or repairs are missing.
func (b *inbox) appendMissing(dst []topology.Rank, slot int) []topology.Rank {
	x := b.at(slot)
	for i, m := range x.in {
		if !x.got[i] || x.wrong[i] && m.Repair == nil {
			dst = append(dst, m.From)
		}
	}
	return dst
}

// index returns the position of neighbour from, −1 if it is none.
func (x *exchange) index(from topology.Rank) int {
	i, ok := slices.BinarySearchFunc(x.in, from, func(m algos.Message, r topology.Rank) int {
		return cmp.Compare(m.From, r)
	})
	if !ok {
		return -1
	}
	return i
}
