package gossip

import (
	"slices"

	"gossiptrainer/algos"
	"gossiptrainer/topology"
)

// edges are the neighbours of a worker by slot.
type edges struct {
	rows   topology.Sequence
	hops   int  // slots of an exchange
	change bool // from exchange to exchange
}

func newEdges(rows topology.Sequence, hops int) edges {
	return edges{rows: rows, hops: max(1, hops), change: rows.Period() != 1}
}

// at returns the row of a slot, which is valid until the next call.
func (e edges) at(slot int) topology.Row { return e.rows.At(slot / e.hops) }

// shape makes the empty place x that of a slot with other edges. It reuses the memory of x.
func (x *exchange) shape(in []topology.Edge) {
	x.from, x.in = x.from[:0], x.in[:0]
	for _, e := range in {
		x.from = append(x.from, sender{rank: e.Peer})
	}
	for range x.pieces {
		for _, e := range in {
			x.in = append(x.in, algos.Message{From: e.Peer, Weight: float32(e.Weight)})
		}
	}
	x.notes[0], x.notes[1] = empty(x.notes[0], len(in)), empty(x.notes[1], len(in))
	x.got, x.wrong = empty(x.got, len(x.in)), empty(x.wrong, len(x.in))
}

// empty returns list as n zeros.
func empty[T any](list []T, n int) []T {
	list = slices.Grow(list[:0], n)[:n]
	clear(list)
	return list
}
