package moniqua

import (
	"fmt"

	"gossiptrainer/algos"
	"gossiptrainer/quant"
)

var _ algos.Piecer = (*Codec)(nil)

// A part is a range of the coordinates of a model: first ≤ at ≤ end. Those from at on are exact. piece is its number.
type part struct{ first, at, end, piece int }

// whole returns all coordinates of a model of d.
func (c *Codec) whole(d int) part { return part{0, c.before(d), d, 0} }

// pieces returns the pieces of a model of d coordinates. Random numbers have the number of a coordinate in the model as
// their address, so a piece has the symbols that its coordinates have in a whole message.
func (c *Codec) pieces(d int) algos.Cut {
	cut := algos.Cut{Dim: d, Tail: min(c.Exact, d), Len: c.Piece}
	if cut.Len == 0 {
		cut.Len = algos.PieceLen(c.block())
	}
	return cut
}

// block returns the coordinates per block, which all rounds share.
func (c *Codec) block() int {
	packing, err := quant.NewPacking(c.Levels)
	if err != nil {
		return blockLen // the codec cannot be used
	}
	return blockOf(packing)
}

// part returns a piece of a model of d coordinates.
func (c *Codec) part(piece, d int) part {
	first, end := c.pieces(d).Range(piece)
	return part{first, min(end, c.before(d)), end, piece}
}

// Pieces returns the number of pieces of a model of d coordinates. Exact coordinates are in the last one.
func (c *Codec) Pieces(d int) int { return c.pieces(d).Pieces() }

// EncodePiece is Encode of a piece. With Verify its own index hash follows its symbols.
func (c *Codec) EncodePiece(dst []byte, k, piece int, x []float32) ([]byte, error) {
	return c.encodePart(dst, k, x, c.part(piece, len(x)))
}

// CheckPiece compares the index hashes of a piece of the messages with the indices that x recovers.
func (c *Codec) CheckPiece(k, piece int, x []float32, in []algos.Message) error {
	if !c.Verify || full(c, k) {
		return nil
	}
	p := c.part(piece, len(x))
	r, err := c.round(k, p.first)
	if err != nil {
		return err
	}
	all := in
	if p.at < p.end {
		if err := c.cut.set(in, floatBytes*(p.end-p.at)); err != nil {
			return fmt.Errorf("moniqua: round %d: %w", k, err)
		}
		in = c.cut.first
	}
	x = x[p.first:p.at]
	if !r.mixedInLanes(in) {
		if err := r.checkReference(x); err != nil {
			return err
		}
	}
	if err := r.checkPayloads(len(x), in); err != nil {
		return err
	}
	if repaired(in) {
		if err := r.fill(x, in); err != nil {
			return err
		}
		for j := range all {
			all[j].Repair = in[j].Repair // MixPiece uses it
		}
		c.verification.mends(piece, in)
	}
	return c.verification.check(&r, x, in)
}

// MixPiece is Mix of a piece, of messages that CheckPiece has accepted.
func (c *Codec) MixPiece(k, piece int, own algos.Own, in []algos.Message) (algos.Mixed, error) {
	p := c.part(piece, len(own.X))
	g := gathered{
		acc: own.Acc[p.first:p.end], x: own.X[p.first:p.end], mine: own.Mine, in: in, part: p, checked: true,
	}
	return c.mixExact(k, g, c.mix)
}

// Layout returns the layout of a piece of round k, for models of d coordinates.
func (c *Codec) Layout(k, d, piece int) quant.Layout {
	p := c.part(piece, d)
	if full(c, k) {
		return quant.Floats(p.end - p.first)
	}
	l := quant.Layout{Levels: c.levels(k), Count: p.at - p.first}
	if c.Verify {
		l.Tail = HashLen
	}
	return l.Longer(floatBytes * (p.end - p.at))
}

// cut finds the ends of the pieces in the quotients of a saved round. Blocks are whole but for the last one of a piece.
func (r *repair) cut(c *Codec) {
	block, piece := c.block(), c.pieces(0).Len
	var err error
	r.ends = r.ends[:0]
	for rest := r.data; ; {
		for left := piece; left > 0 && err == nil; left -= block {
			_, _, _, rest, err = cutQuotients(rest, min(left, block))
		}
		if err != nil || len(rest) == 0 {
			break // the last piece
		}
		r.ends = append(r.ends, len(r.data)-len(rest))
	}
	r.end()
}
