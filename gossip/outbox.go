package gossip

import (
	"slices"

	"gossiptrainer/topology"
)

// An outbox keeps the messages of the last Lead+1 slots, one for all receivers, and reuses the buffers of their pieces.
//
// It never rewrites a buffer that a receiver may still need. A worker sends slot s after it has mixed slot s−1. Then
// each worker that it sends to has mixed slot s−1−Lead, for these reasons:
//
//   - On an undirected graph, Lead = 1: the neighbour's message of slot s−1 is
//     there, which it sent after it had mixed slot s−2. A neighbour with
//     nothing to say in a hop sends an empty message, and has mixed as much.
//   - On a directed cycle of n workers, Lead = n−1. The worker before this one sent
//     message s−1 after it had mixed slot s−2. So the second worker before this one
//     had mixed slot s−3, and so on around the cycle. The worker after this one
//     therefore had mixed slot s−n.
//   - An edge that goes on with slot r: its other end reads nothing older than r,
//     and the argument above holds for all slots from r+1 on. The message of r is
//     lent, because the other end may refuse the edge and never confirm that it has
//     read the message.
//   - An edge that both ends close with slot r: the other end's message of r, which
//     would confirm that it has read r−1, does not come. So the message of r−1 is
//     lent.
//   - An edge that goes off with slot r lost its link, and the drivers have dropped
//     all its frames. No worker reads them any more.
//
// So slot s may take the buffer of slot s−1−Lead: a receiver needs only the Lead+1 last frames. Every receiver has read
// the frame in that buffer in full. The drivers have sent it, because they drop frames for a lost link before they call
// Link. A frame that Link sends again may be a duplicate, which confirms nothing and may stay in a driver for long. So
// its message is lent.
//
// A message that is lent is never rewritten: the slot that would take its buffers gets others, and the garbage collector
// takes the old ones when the last driver is through. So no message is copied, however large it is.
type outbox struct {
	self  topology.Rank
	peers []receiver
	kept  []mailed // slot s in kept[s mod len(kept)]
	sent  int      // slots begun so far
	made  int      // pieces of the last of them that exist
	first int      // the oldest slot that is kept, if it is one of the last
}

// A mailed is the message of a slot.
type mailed struct {
	Frame  // without a receiver and a payload
	pieces [][]byte

	repaired [][]bool // by receiver and piece: whether it got the repair on its present link; nil: none
	lent     bool     // a driver may need the pieces longer than the outbox does
}

// piece returns the frame of a piece.
func (l *mailed) piece(i int) Frame {
	f := l.Frame
	f.Piece, f.Payload = i, l.pieces[i]
	return f
}

// A receiver gets the slots from ≤ s < until.
type receiver struct {
	rank        topology.Rank
	from, until int
}

func (r receiver) is(slot int) bool { return r.from <= slot && slot < r.until }

func newOutbox(self topology.Rank, peers []topology.Rank, slots, pieces int) outbox {
	b := outbox{self: self, kept: make([]mailed, slots), made: pieces}
	for i := range b.kept {
		b.kept[i].pieces = make([][]byte, pieces)
	}
	for _, rank := range peers {
		b.add(receiver{rank: rank, until: forever})
	}
	return b
}

// add enters a receiver, in place of an earlier entry for the same worker.
func (b *outbox) add(r receiver) {
	if i := b.index(r.rank); i >= 0 {
		b.peers[i] = r
		return
	}
	b.peers = append(b.peers, r)
	for i := range b.kept {
		b.kept[i].repaired = append(b.kept[i].repaired, nil)
	}
}

// index returns the position of a receiver, −1 if it is none.
func (b *outbox) index(peer topology.Rank) int {
	return slices.IndexFunc(b.peers, func(r receiver) bool { return r.rank == peer })
}

func (b *outbox) at(slot int) *mailed { return &b.kept[slot%len(b.kept)] }

// has reports whether a piece of a slot exists.
func (b *outbox) has(slot, piece int) bool {
	return slot < b.sent-1 || slot == b.sent-1 && piece < b.made
}

// unmade returns how many pieces of the last slot do not exist yet.
func (b *outbox) unmade() int { return len(b.kept[0].pieces) - b.made }

// oldest returns the first slot that is kept.
func (b *outbox) oldest() int { return max(b.first, b.sent-len(b.kept)) }

// start enters the frame of the slot to be sent next, without a payload.
func (b *outbox) start(f Frame) {
	l := b.at(b.sent)
	f.From = b.self
	l.Frame = f
	if l.lent {
		clear(l.pieces)
		l.lent = false
	}
	for _, repaired := range l.repaired {
		clear(repaired)
	}
	b.sent, b.made = b.sent+1, 0
}

// buffer returns the empty buffer of the piece to be made next.
func (b *outbox) buffer() []byte { return b.at(b.sent - 1).pieces[b.made][:0] }

// keep enters the piece to be made next.
func (b *outbox) keep(payload []byte) {
	b.at(b.sent - 1).pieces[b.made] = payload
	b.made++
}

// grant notes that peer gets the repair of a piece of a slot, or says why not. Each peer gets one per piece and link.
// So requests cannot make this worker send for ever.
func (b *outbox) grant(slot, piece int, peer topology.Rank) error {
	i := b.index(peer)
	switch {
	case i < 0 || !b.peers[i].is(slot):
		return ErrStranger
	case !b.has(slot, piece):
		return ErrEarly
	case slot < b.oldest():
		return ErrStale
	}
	l := b.at(slot)
	if l.repaired[i] == nil {
		l.repaired[i] = make([]bool, len(l.pieces))
	}
	if l.repaired[i][piece] {
		return ErrDuplicate
	}
	l.repaired[i][piece] = true
	return nil
}

// relink forgets which repairs peer got: they may have been lost.
func (b *outbox) relink(peer topology.Rank) {
	if i := b.index(peer); i >= 0 {
		for s := range b.kept {
			clear(b.kept[s].repaired[i])
		}
	}
}

// appendLast appends the frames of the piece that was made last, one per receiver, to dst.
func (b *outbox) appendLast(dst []Frame) []Frame {
	for _, peer := range b.peers {
		if !peer.is(b.sent - 1) {
			continue
		}
		l := b.at(b.sent - 1)
		f := l.piece(b.made - 1)
		f.To = peer.rank
		if peer.until == b.sent || peer.from > 0 && peer.from == b.sent-1 {
			l.lent = true
		}
		dst = append(dst, f)
	}
	return dst
}

// appendAgain appends all frames kept, addressed to peer, to dst, oldest first. A worker that is no receiver gets none.
func (b *outbox) appendAgain(dst []Frame, peer topology.Rank) []Frame {
	i := b.index(peer)
	if i < 0 {
		return dst
	}
	for slot := b.oldest(); slot < b.sent; slot++ {
		if !b.peers[i].is(slot) {
			continue
		}
		l := b.at(slot)
		for piece := 0; piece < len(l.pieces) && b.has(slot, piece); piece++ {
			f := l.piece(piece)
			f.To = peer
			dst = append(dst, f)
			l.lent = true
		}
	}
	return dst
}

// Shared returns the number of first frames that are one message to several neighbours. Such frames differ only in the
// receiver and share one payload in memory. A driver that processes payloads does so once for them.
func Shared(frames []Frame) int {
	if len(frames) == 0 {
		return 0
	}
	first := frames[0]
	for i, f := range frames {
		same := len(f.Payload) == len(first.Payload) && (len(f.Payload) == 0 || &f.Payload[0] == &first.Payload[0])
		if !same || f.Kind != first.Kind || f.Round != first.Round || f.Hop != first.Hop || f.Piece != first.Piece {
			return i
		}
	}
	return len(frames)
}
