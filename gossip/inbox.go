package gossip

import (
	"cmp"
	"slices"

	"gossiptrainer/algos"
	"gossiptrainer/topology"
)

// An inbox holds the messages of the exchanges from the current one on: slot s is in exchanges[s mod len(exchanges)].
// It makes them when the first is looked for. After that it allocates only where edges go off or on.
type inbox struct {
	exchanges []exchange // nil before the first is looked for
	slots     int
	edges     edges
	spans     []span // in increasing rank; none where edges change
	pieces    int    // of a message
	lanes     int    // that share the pieces
}

// An exchange holds the messages of one slot, piece by piece. Pieces are in the order of the row. That order is by
// increasing rank, as algorithms require.
type exchange struct {
	from []sender
	// by half and sender: the lower halves of notes are for the Noter of lane 0, the upper ones for that of lane 1 or for
	// an Agreement
	notes  [2][]uint32
	in     []algos.Message // piece p of sender i: in[p·len(from) + i]
	got    []bool          // whether each has arrived; an empty payload is a payload
	wrong  []bool          // which of them need their Repair
	pieces []parcel
	left   int                    // pieces that are not mixed
	each   int                    // pieces of a lane
	saw    [mostLanes]algos.Mixed // of the pieces that are mixed, by lane
}

// A sender is a neighbour in one exchange.
type sender struct {
	rank   topology.Rank
	usable int             // pieces that are mixed, or can be
	wrong  [mostLanes]bool // some piece of the lane needed its Repair
}

// A parcel is the state of one piece of an exchange. It is ready when all neighbours' messages are there, with the
// repairs that they need.
type parcel struct {
	usable int // messages that can be mixed
	state  parcelState
}

// A parcelState is the progress of one piece.
//
//	state    meaning                        event                                  next
//	open     it may be incomplete           it is ready and has been checked       checked
//	open     the codec does not verify      it is ready and has been mixed         mixed
//	checked  it can be mixed                it is mixed                            mixed
//	open, checked                           the edges of the exchange change       open
//	mixed    frames of it are duplicates
type parcelState uint8

const (
	open parcelState = iota
	checked
	mixed
)

func newInbox(e edges, slots, pieces, lanes int) inbox {
	b := inbox{edges: e, slots: slots, pieces: pieces, lanes: lanes}
	if !e.change {
		in := e.at(0).In
		b.spans = make([]span, len(in))
		for i, edge := range in {
			b.spans[i] = span{Edge: edge, until: forever}
		}
	}
	b.begin(0)
	return b
}

// layOut makes the places of the first slots.
func (b *inbox) layOut() {
	b.exchanges = make([]exchange, b.slots)
	for slot := range b.exchanges {
		b.exchanges[slot] = b.laidOut(slot)
	}
}

// begin shapes the places of the slots from one on, which are empty.
func (b *inbox) begin(slot int) {
	for at := slot; at < slot+b.slots && b.edges.change; at++ {
		b.at(at).shape(b.edges.at(at).In)
	}
}

func (b *inbox) at(slot int) *exchange {
	if b.exchanges == nil {
		b.layOut()
	}
	return &b.exchanges[slot%b.slots]
}

// put keeps a piece of the message of a neighbour.
func (b *inbox) put(slot int, f Frame) error {
	x := b.at(slot)
	i := x.index(f.From)
	if i < 0 {
		return ErrStranger
	}
	at := f.Piece*len(x.from) + i
	if x.got[at] || x.pieces[f.Piece].state == mixed {
		return ErrDuplicate
	}
	x.notes[0][i], x.notes[1][i] = uint32(f.Note), uint32(f.Note>>noteBits)
	x.in[at].Payload, x.got[at] = f.Payload, true
	x.count(i, f.Piece, 1)
	return nil
}

// count enters that a message has become usable, or with −1 that it is not any more.
func (x *exchange) count(i, piece, change int) {
	x.from[i].usable += change
	x.pieces[piece].usable += change
}

// suspect notes that a piece of the message of a neighbour needs its repair, unless it has one or has not arrived. It
// reports whether this is the first such piece of its lane.
func (b *inbox) suspect(slot, piece int, from topology.Rank) (first, ok bool) {
	x := b.at(slot)
	i := x.index(from)
	at := piece*len(x.from) + i
	if i < 0 || !x.got[at] || x.wrong[at] {
		return false, false
	}
	lane := piece / x.each
	first = !x.from[i].wrong[lane]
	x.wrong[at], x.from[i].wrong[lane] = true, true
	x.count(i, piece, -1)
	return first, true
}

// lacks reports whether the repair of a piece of a neighbour's message is missing.
func (b *inbox) lacks(slot, piece int, from topology.Rank) bool {
	x := b.at(slot)
	i := x.index(from)
	at := piece*len(x.from) + i
	return i >= 0 && x.wrong[at] && x.in[at].Repair == nil
}

// mend keeps the repair of a piece of a neighbour's message.
func (b *inbox) mend(slot int, f Frame) error {
	x := b.at(slot)
	i := x.index(f.From)
	at := f.Piece*len(x.from) + i
	repair := f.Payload
	switch {
	case i < 0:
		return ErrStranger
	case !x.wrong[at]:
		return ErrUnasked
	case x.in[at].Repair != nil:
		return ErrDuplicate
	case repair == nil:
		repair = []byte{}
	}
	x.in[at].Repair = repair
	x.count(i, f.Piece, 1)
	return nil
}

// ready reports whether all neighbours' messages of a piece are there, with the repairs that they need, and are not
// mixed.
func (x *exchange) ready(piece int) bool {
	p := &x.pieces[piece]
	return p.state != mixed && p.usable == len(x.from)
}

// complete reports whether all pieces are ready or mixed.
func (x *exchange) complete() bool {
	for i := range x.from {
		if x.from[i].usable < len(x.pieces) {
			return false
		}
	}
	return true
}

// repaired returns how many messages of a lane needed repair.
func (x *exchange) repaired(lane int) int {
	n := 0
	for i := range x.from {
		if x.from[i].wrong[lane] {
			n++
		}
	}
	return n
}

// messages returns a piece of all messages, whose magnitudes are limited.
func (x *exchange) messages(piece int, limit float32) []algos.Message {
	in := x.in[piece*len(x.from) : (piece+1)*len(x.from)]
	for i := range in {
		in[i].Limit = limit
	}
	return in
}

// mixed notes that a piece is mixed, and appends its payloads to spent.
func (x *exchange) mixed(piece int, saw algos.Mixed, spent [][]byte) [][]byte {
	for i := range x.from {
		spent = x.take(i, piece, spent)
		x.from[i].usable++ // take has made it less
	}
	x.pieces[piece].state = mixed
	of := &x.saw[piece/x.each]
	*of = of.Join(saw)
	x.left--
	return spent
}

// clear empties a slot whose pieces are mixed. The slot after the last one kept takes its place. It appends payloads of
// edges that are off to spent.
func (b *inbox) clear(slot int, spent [][]byte) [][]byte {
	x := b.at(slot)
	x.left, x.saw = len(x.pieces), [mostLanes]algos.Mixed{}
	clear(x.pieces)
	for i := range x.from {
		x.from[i] = sender{rank: x.from[i].rank}
	}
	clear(x.notes[0])
	clear(x.notes[1])
	return b.lay(slot+b.slots, spent)
}

// discard removes one piece of a message, if it has arrived, and appends its payloads to spent.
func (b *inbox) discard(slot, piece int, from topology.Rank, spent [][]byte) (_ [][]byte, ok bool) {
	x := b.at(slot)
	i := x.index(from)
	if i < 0 || !x.got[piece*len(x.from)+i] {
		return spent, false
	}
	x.pieces[piece].state = open
	return x.take(i, piece, spent), true
}

// take removes a piece of message i, which has arrived, and appends its payloads to spent.
func (x *exchange) take(i, piece int, spent [][]byte) [][]byte {
	at := piece*len(x.from) + i
	m := &x.in[at]
	spent = append(spent, m.Payload)
	if m.Repair != nil {
		spent = append(spent, m.Repair)
	}
	if !x.wrong[at] || m.Repair != nil {
		x.count(i, piece, -1)
	}
	m.Payload, m.Repair, x.got[at], x.wrong[at] = nil, nil, false, false
	return spent
}

// appendMissing appends to dst the neighbours whose messages or repairs are missing.
func (b *inbox) appendMissing(dst []topology.Rank, slot int) []topology.Rank {
	x := b.at(slot)
	for i := range x.from {
		if x.from[i].usable < len(x.pieces) {
			dst = append(dst, x.from[i].rank)
		}
	}
	return dst
}

// index returns the position of neighbour from, −1 if it is none.
func (x *exchange) index(from topology.Rank) int {
	i, ok := slices.BinarySearchFunc(x.from, from, func(s sender, r topology.Rank) int { return cmp.Compare(s.rank, r) })
	if !ok {
		return -1
	}
	return i
}

// begun reports whether a piece of a neighbour's message is there.
func (x *exchange) begun(from topology.Rank) bool {
	i := x.index(from)
	return i >= 0 && x.from[i].usable > 0
}
