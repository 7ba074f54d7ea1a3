package gossip

import (
	"slices"

	"gossiptrainer/topology"
)

// An outbox keeps the frames of the last Lead+1 slots, one payload per slot
// for all receivers, and reuses their buffers.
//
// Why no buffer is rewritten while a receiver may still need it: a worker
// sends slot s after it has mixed slot s−1, and then each worker that it sends
// to has mixed slot s−1−Lead.
//
//   - On an undirected graph, Lead = 1: the neighbour's message of slot s−1 is
//     there, which it sent after it had mixed slot s−2. A neighbour with
//     nothing to say in a hop sends an empty message, and has mixed as much.
//   - On a directed cycle of n workers, Lead = n−1: message s−1 of the worker
//     before this one was sent after that one had mixed s−2, so the second
//     before had mixed s−3, and so on around to the one after this worker,
//     which had mixed s−n.
//   - An edge that goes on with slot r: its other end reads nothing older than r,
//     and what is said above holds for all slots from r+1 on. The message of r is a
//     copy: the other end may refuse the edge, and says nothing that tells that it
//     has read it.
//   - An edge that is closed with slot r by both ends: the other end's message of
//     r does not come, which would tell that it has read r−1. That one is a copy.
//   - An edge that goes off with slot r was lost with its link, on which the
//     drivers have let go of all frames. Nobody reads them any more.
//
// So slot s may take the buffer of slot s−1−Lead, and a receiver needs none but
// the Lead+1 last frames. The frame in that buffer was read in full by every
// receiver, and the drivers have sent it: on the link on which it came in, for
// those meant for links lost since are given up before Link is called. A frame
// that is sent again by Link may be a duplicate, on which no progress depends
// and which may linger in a driver for longer: it has a payload of its own.
type outbox struct {
	self  topology.Rank
	peers []receiver
	kept  []Frame // slot s in kept[s mod len(kept)], without a receiver
	sent  int     // slots sent so far
	first int     // the oldest that is there, if it is one of the last

	repaired [][]bool // by kept slot and receiver: whether it got the repair on its present link
}

// A receiver is told the slots from ≤ s < until.
type receiver struct {
	rank        topology.Rank
	from, until int
}

func (r receiver) is(slot int) bool { return r.from <= slot && slot < r.until }

func newOutbox(self topology.Rank, peers []topology.Rank, slots int) outbox {
	b := outbox{self: self, kept: make([]Frame, slots), repaired: make([][]bool, slots)}
	for _, rank := range peers {
		b.add(receiver{rank: rank, until: forever})
	}
	return b
}

// add enters who is told from now on, in place of the same worker before.
func (b *outbox) add(r receiver) {
	if i := b.index(r.rank); i >= 0 {
		b.peers[i] = r
		return
	}
	b.peers = append(b.peers, r)
	for s := range b.repaired {
		b.repaired[s] = append(b.repaired[s], false)
	}
}

// index returns the position of a receiver, −1 if it is none.
func (b *outbox) index(peer topology.Rank) int {
	return slices.IndexFunc(b.peers, func(r receiver) bool { return r.rank == peer })
}

func (b *outbox) at(slot int) *Frame { return &b.kept[slot%len(b.kept)] }

// oldest returns the first slot that is kept.
func (b *outbox) oldest() int { return max(b.first, b.sent-len(b.kept)) }

// buffer returns the empty buffer of the slot to be sent next.
func (b *outbox) buffer() []byte { return b.at(b.sent).Payload[:0] }

// keep enters the frames of the slot to be sent next.
func (b *outbox) keep(f Frame) {
	f.From = b.self
	*b.at(b.sent) = f
	clear(b.repaired[b.sent%len(b.kept)])
	b.sent++
}

// grant notes that peer gets the repair of a slot, or says why not. It gets one
// per link, so that requests cannot be used to make this worker send for ever.
func (b *outbox) grant(slot int, peer topology.Rank) error {
	i := b.index(peer)
	switch {
	case i < 0 || !b.peers[i].is(slot):
		return ErrStranger
	case slot >= b.sent:
		return ErrEarly
	case slot < b.oldest():
		return ErrStale
	case b.repaired[slot%len(b.kept)][i]:
		return ErrDuplicate
	}
	b.repaired[slot%len(b.kept)][i] = true
	return nil
}

// relink forgets which repairs peer got: they may have been lost.
func (b *outbox) relink(peer topology.Rank) {
	if i := b.index(peer); i >= 0 {
		for s := range b.repaired {
			b.repaired[s][i] = false
		}
	}
}

// appendLast appends the frames of the last slot, one per receiver, to dst.
func (b *outbox) appendLast(dst []Frame) []Frame {
	for _, peer := range b.peers {
		if !peer.is(b.sent - 1) {
			continue
		}
		f := *b.at(b.sent - 1)
		f.To = peer.rank
		if peer.until == b.sent || peer.from > 0 && peer.from == b.sent-1 {
			f.Payload = slices.Clone(f.Payload)
		}
		dst = append(dst, f)
	}
	return dst
}

// appendAgain appends copies of all frames kept, as meant for peer, to dst,
// oldest first. For a worker that is not told anything there are none.
func (b *outbox) appendAgain(dst []Frame, peer topology.Rank) []Frame {
	i := b.index(peer)
	if i < 0 {
		return dst
	}
	for slot := b.oldest(); slot < b.sent; slot++ {
		if !b.peers[i].is(slot) {
			continue
		}
		f := *b.at(slot)
		f.To, f.Payload = peer, slices.Clone(f.Payload)
		dst = append(dst, f)
	}
	return dst
}

// Shared returns how many frames at the beginning of frames are one message to
// several neighbours: alike but for the receiver, with one payload in memory. A
// driver that does something to payloads does it once for them.
func Shared(frames []Frame) int {
	if len(frames) == 0 {
		return 0
	}
	first := frames[0]
	for i, f := range frames {
		same := len(f.Payload) == len(first.Payload) && (len(f.Payload) == 0 || &f.Payload[0] == &first.Payload[0])
		if !same || f.Kind != first.Kind || f.Round != first.Round || f.Hop != first.Hop {
			return i
		}
	}
	return len(frames)
}
