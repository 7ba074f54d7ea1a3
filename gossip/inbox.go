package gossip

import (
	"cmp"
	"slices"

	"gossiptrainer/algos"
	"gossiptrainer/topology"
)

// An inbox holds the messages of the exchanges from the current one on: slot s
// is in exchanges[s mod len(exchanges)]. Nothing is allocated after newInbox.
type inbox struct {
	exchanges []exchange
}

// An exchange holds the messages of one slot in the order of the row, which is
// by increasing rank, as an algorithm wants them.
type exchange struct {
	in  []algos.Message
	got []bool // which of them are there; an empty payload is a payload
	n   int    // how many
}

func newInbox(in []topology.Edge, slots int) inbox {
	b := inbox{exchanges: make([]exchange, slots)}
	for s := range b.exchanges {
		x := exchange{in: make([]algos.Message, len(in)), got: make([]bool, len(in))}
		for i, e := range in {
			x.in[i] = algos.Message{From: e.Peer, Weight: float32(e.Weight)}
		}
		b.exchanges[s] = x
	}
	return b
}

func (b *inbox) at(slot int) *exchange { return &b.exchanges[slot%len(b.exchanges)] }

// put keeps the payload of a neighbour.
func (b *inbox) put(slot int, from topology.Rank, payload []byte) error {
	x := b.at(slot)
	i := x.index(from)
	if i < 0 {
		return ErrStranger
	}
	if x.got[i] {
		return ErrDuplicate
	}
	x.in[i].Payload, x.got[i] = payload, true
	x.n++
	return nil
}

// complete reports whether all neighbours' messages are there.
func (b *inbox) complete(slot int) bool {
	x := b.at(slot)
	return x.n == len(x.in)
}

// messages returns the messages of a complete slot.
func (b *inbox) messages(slot int) []algos.Message { return b.at(slot).in }

// clear empties a complete slot and appends its payloads to spent.
func (b *inbox) clear(slot int, spent [][]byte) [][]byte {
	x := b.at(slot)
	for i := range x.in {
		spent = append(spent, x.in[i].Payload)
		x.in[i].Payload, x.got[i] = nil, false
	}
	x.n = 0
	return spent
}

// discard removes one message and returns its payload, if it is there.
func (b *inbox) discard(slot int, from topology.Rank) (payload []byte, ok bool) {
	x := b.at(slot)
	i := x.index(from)
	if i < 0 || !x.got[i] {
		return nil, false
	}
	payload = x.in[i].Payload
	x.in[i].Payload, x.got[i] = nil, false
	x.n--
	return payload, true
}

// appendMissing appends the neighbours whose messages lack to dst.
func (b *inbox) appendMissing(dst []topology.Rank, slot int) []topology.Rank {
	x := b.at(slot)
	for i, m := range x.in {
		if !x.got[i] {
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
