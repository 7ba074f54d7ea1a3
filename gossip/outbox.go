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
//     and the argument above holds for all slots from r+1 on. The message of r is a
//     copy, because the other end may refuse the edge and never confirm that it has
//     read the message.
//   - An edge that both ends close with slot r: the other end's message of r, which
//     would confirm that it has read r−1, does not come. So the message of r−1 is a
//     copy.
//   - An edge that goes off with slot r lost its link, and the drivers have dropped
//     all its frames. No worker reads them any more.
//
// So slot s may take the buffer of slot s−1−Lead: a receiver needs only the Lead+1 last frames. Every receiver has read
// the frame in that buffer in full. The drivers have sent it, because they drop frames for a lost link before they call
// Link. A frame that Link sends again may be a duplicate, which confirms nothing and may stay in a driver for long. So
// the buffers of its slot are lent: nothing is written to them any more, and the next slot gets others.
//
// A worker with a lender gives the buffers of slot s back earlier, see Worker.release.
type outbox struct {
	self   topology.Rank
	edges  *edges     // of the inbox
	peers  []receiver // none where edges change
	kept   []mailed   // slot s in kept[s mod slots]; nil before the first is looked for
	slots  int
	pieces int    // of a message
	sent   int    // slots begun so far
	made   int    // pieces of the last of them that exist
	first  int    // the oldest slot that is kept, if it is one of the last
	lender Lender // of the buffers; nil: each is used again in its place
	size   int    // of the longest piece so far, in bytes
	logged bool   // a log sends messages again
}

// A mailed is the message of a slot.
type mailed struct {
	Frame  // without a receiver and a payload
	pieces [][]byte
	lent   bool // frames that were sent again use the buffers

	to       []topology.Rank // where edges change: the receivers
	repaired [][]bool        // by receiver and piece: whether it got the repair on its present link; nil: none
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

func newOutbox(self topology.Rank, e *edges, slots, pieces int) outbox {
	b := outbox{self: self, edges: e, slots: slots, pieces: pieces, made: pieces}
	if !e.change {
		out := e.at(0).Out
		b.peers = make([]receiver, len(out))
		for i, rank := range out {
			b.peers[i] = receiver{rank: rank, until: forever}
		}
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

func (b *outbox) at(slot int) *mailed {
	if b.kept == nil {
		b.kept = make([]mailed, b.slots)
		for i := range b.kept {
			b.kept[i].pieces, b.kept[i].repaired = make([][]byte, b.pieces), make([][]bool, len(b.peers))
		}
	}
	return &b.kept[slot%b.slots]
}

// has reports whether a piece of a slot exists.
func (b *outbox) has(slot, piece int) bool {
	return slot < b.sent-1 || slot == b.sent-1 && piece < b.made
}

// unmade returns how many pieces of the last slot do not exist yet.
func (b *outbox) unmade() int { return b.pieces - b.made }

// oldest returns the first slot that is kept.
func (b *outbox) oldest() int { return max(b.first, b.sent-b.slots) }

// start enters the frame of the slot to be sent next, without a payload.
func (b *outbox) start(f Frame) {
	l := b.at(b.sent)
	f.From = b.self
	l.Frame = f
	b.address(b.sent)
	l.takeBack()
	for _, repaired := range l.repaired {
		clear(repaired)
	}
	b.sent, b.made = b.sent+1, 0
}

// takeBack drops buffers that are lent.
func (l *mailed) takeBack() {
	if l.lent {
		clear(l.pieces)
	}
	l.lent = false
}

// buffer returns an empty buffer for the piece to be made next.
func (b *outbox) buffer() []byte {
	own := b.at(b.sent - 1).pieces[b.made]
	if own == nil && b.lender != nil {
		own = b.lender.Get(b.size)
	}
	return own[:0]
}

// keep enters the piece to be made next.
func (b *outbox) keep(payload []byte) {
	b.at(b.sent - 1).pieces[b.made] = payload
	b.made, b.size = b.made+1, max(b.size, len(payload))
}

// release gives the buffers of the oldest slot back to the lender.
func (b *outbox) release() {
	l := b.at(b.oldest())
	l.takeBack()
	for i, payload := range l.pieces {
		b.lender.Put(payload)
		l.pieces[i] = nil
	}
	b.first = b.oldest() + 1
}

// grant notes that peer gets the repair of a piece of a slot, or says why not. Each peer gets one per piece and link.
// So requests cannot make this worker send for ever.
func (b *outbox) grant(slot, piece int, peer topology.Rank) error {
	switch {
	case !b.has(slot, piece):
		return ErrEarly
	case slot < b.oldest():
		return ErrStale
	}
	i := b.position(slot, peer)
	if i < 0 {
		return ErrStranger
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
	for slot := b.oldest(); slot < b.sent; slot++ {
		if i := b.position(slot, peer); i >= 0 {
			clear(b.at(slot).repaired[i])
		}
	}
}

// appendLast appends the frames of the piece that was made last, one per receiver, to dst.
func (b *outbox) appendLast(dst []Frame) []Frame {
	for _, rank := range b.at(b.sent - 1).to {
		f := b.at(b.sent - 1).piece(b.made - 1)
		f.To = rank
		dst = append(dst, f)
	}
	for _, peer := range b.peers {
		if !peer.is(b.sent - 1) {
			continue
		}
		f := b.at(b.sent - 1).piece(b.made - 1)
		f.To = peer.rank
		if peer.until == b.sent || peer.from > 0 && peer.from == b.sent-1 {
			f.Payload = slices.Clone(f.Payload)
		}
		dst = append(dst, f)
	}
	return dst
}

// appendAgain appends all frames kept, addressed to peer, to dst, oldest first. A worker that is no receiver gets none.
func (b *outbox) appendAgain(dst []Frame, peer topology.Rank) []Frame {
	for slot := b.oldest(); slot < b.sent; slot++ {
		if b.position(slot, peer) < 0 {
			continue
		}
		for piece := 0; piece < len(b.at(slot).pieces) && b.has(slot, piece); piece++ {
			f := b.at(slot).piece(piece)
			f.To = peer
			dst = append(dst, f)
		}
		b.at(slot).lent = true
	}
	return dst
}

// address enters the receivers of a slot where edges change.
func (b *outbox) address(slot int) {
	if !b.edges.change {
		return
	}
	l := b.at(slot)
	l.to = append(l.to[:0], b.edges.at(slot).Out...)
	for len(l.repaired) < len(l.to) {
		l.repaired = append(l.repaired, nil)
	}
}

// position returns the position of a receiver of a slot that is kept, −1 if it gets none.
func (b *outbox) position(slot int, peer topology.Rank) int {
	if b.edges.change {
		return slices.Index(b.at(slot).to, peer)
	}
	i := b.index(peer)
	if i < 0 || !b.peers[i].is(slot) {
		return -1
	}
	return i
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
		if !same || f.Stored != nil && i > 0 || f.Kind != first.Kind || f.Round != first.Round || f.Hop != first.Hop ||
			f.Piece != first.Piece {
			return i
		}
	}
	return len(frames)
}
