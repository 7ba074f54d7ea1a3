package algos

// A model of many coordinates travels in pieces. A piece is a range of coordinates with a payload of its own, which is
// encoded, checked, repaired and mixed without the others. So a receiver mixes the first pieces while the sender
// encodes the last ones, and nothing needs memory for a whole message. Coordinates do not depend on each other: a model
// that is mixed in pieces has the same bits as one that is mixed at once.

// A Piecer is a Codec that works on the pieces of a model. The number of a piece is 0 ≤ piece < Pieces(d), for models
// of d coordinates. A message in one piece is that of Encode.
type Piecer interface {
	// Pieces returns the number of pieces of a model of d coordinates, ≥ 1. It is the same in all rounds.
	Pieces(d int) int
	// EncodePiece appends a piece of the payload of model x in round k to dst, like Encode. The pieces of a round are
	// encoded in order.
	EncodePiece(dst []byte, k, piece int, x []float32) ([]byte, error)
	// CheckPiece returns a *MismatchError for messages that need their Repair, and a *MessageError for one that cannot be
	// used. A codec that does not verify finds nothing here.
	CheckPiece(k, piece int, x []float32, in []Message) error
	// MixPiece is Mix of a piece. The messages are pieces. A codec that verifies has checked them by CheckPiece, and the
	// reference has not changed in this piece since then. Without an audit of wrong messages, several pieces may be mixed
	// at the same time.
	MixPiece(k, piece int, own Own, in []Message) (Mixed, error)
}

// Own is the worker's own part in mixing a piece.
type Own struct {
	Acc  []float32 // what the differences are added to, as long as X; it may be X itself
	X    []float32 // the reference: what the worker has sent
	Mine []byte    // its payload of this piece
}

// blocksPerPiece is the length of a piece in blocks of the Moniqua codec, each of up to 1024 coordinates. A piece of 8
// bits per coordinate then fills one message of a multiplexed link, 64 KiB, with its frame.
const blocksPerPiece = 63

// PieceLen returns the number of coordinates of a piece, for a codec that works on blocks of block coordinates each.
func PieceLen(block int) int { return blocksPerPiece * block }

// A Cut divides a model into pieces. All pieces have the same length, but the last one, which is shorter and carries
// the coordinates that do not count.
type Cut struct {
	Dim  int // coordinates of the model
	Tail int // trailing elements that are not counted
	Len  int // coordinates of a piece, > 0
}

// Pieces returns the number of pieces, ≥ 1.
func (c Cut) Pieces() int { return max(1, (c.Dim-c.Tail+c.Len-1)/c.Len) }

// Range returns the first coordinate of a piece, and the end of the piece.
func (c Cut) Range(piece int) (first, end int) {
	first = piece * c.Len
	if piece == c.Pieces()-1 {
		return first, c.Dim
	}
	return first, first + c.Len
}

// A parcel is the part of an update rule that sends and mixes its model in pieces.
type parcel struct {
	codec Piecer
	mine  [][]byte // the payload of this round by piece, owned by the machine
}

// by makes the parcel use a codec for models of d coordinates, and returns the number of pieces.
func (p *parcel) by(codec Codec, d int) int {
	c, ok := codec.(Piecer)
	if !ok {
		return 1
	}
	p.codec = c
	if p.mine == nil {
		p.mine = make([][]byte, c.Pieces(d))
	}
	return len(p.mine)
}

// send appends a piece of x to dst.
func (p *parcel) send(k, piece int, x []float32, dst []byte) ([]byte, error) {
	start := len(dst)
	dst, err := p.codec.EncodePiece(dst, k, piece, x)
	p.mine[piece] = dst[start:]
	return dst, err
}

// mix mixes a piece of x into that of acc.
func (p *parcel) mix(acc []float32, k, piece int, x []float32, in []Message) (Mixed, error) {
	return p.codec.MixPiece(k, piece, Own{acc, x, p.mine[piece]}, in)
}
