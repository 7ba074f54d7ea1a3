package algos

import (
	"fmt"
	"math"

	"gossiptrainer/internal/kernel"
)

// Full sends models in full precision: 4 bytes per parameter, IEEE 754 binary32, little-endian, in the order of the
// vector. It recovers them without error: x̂ = x.
type Full struct {
	Piece int // coordinates of a piece, ≥ 0, for tests; 0: the standard length, 64,512
}

var (
	_ Codec  = Full{}
	_ Piecer = Full{}
)

// Encode appends 4·len(x) bytes. On error it returns dst unchanged.
func (Full) Encode(dst []byte, k int, x []float32) ([]byte, error) {
	dst, err := appendFloats(dst, x)
	if err != nil {
		return dst, fmt.Errorf("full: round %d: %w", k, err)
	}
	return dst, nil
}

// fullBlock is the length of the blocks of pieces, as in the Moniqua codec.
const fullBlock = 1024

// cut returns the pieces of models of d coordinates.
func (f Full) cut(d int) Cut {
	if f.Piece > 0 {
		return Cut{Dim: d, Len: f.Piece}
	}
	return Cut{Dim: d, Len: PieceLen(fullBlock)}
}

// Range returns the first coordinate of a piece of a model of d coordinates, and the end of the piece.
func (f Full) Range(d, piece int) (first, end int) { return f.cut(d).Range(piece) }

// MaxPiece returns the size in bytes of the largest piece of a model of d coordinates.
func (f Full) MaxPiece(d int) int { return floatBytes * min(d, f.cut(d).Len) }

// Pieces returns the number of pieces.
func (f Full) Pieces(d int) int { return f.cut(d).Pieces() }

// EncodePiece appends 4 bytes for each coordinate of a piece.
func (f Full) EncodePiece(dst []byte, k, piece int, x []float32) ([]byte, error) {
	first, end := f.cut(len(x)).Range(piece)
	return f.Encode(dst, k, x[first:end])
}

// CheckPiece finds nothing: MixPiece checks the messages.
func (Full) CheckPiece(int, int, []float32, []Message) error { return nil }

// MixPiece is Mix of a piece.
func (f Full) MixPiece(k, piece int, own Own, in []Message) (Mixed, error) {
	first, end := f.cut(len(own.X)).Range(piece)
	return f.Mix(own.Acc[first:end], k, own.X[first:end], own.Mine, in)
}

// Check returns the largest magnitude in the messages of d coordinates. It returns a *MessageError for one that Mix
// refuses.
func (Full) Check(d int, in []Message) (largest float32, err error) {
	for _, m := range in {
		size, err := checkFloats(m, d)
		if err != nil {
			return 0, err
		}
		largest = max(largest, size)
	}
	return largest, nil
}

// Mix adds Σ_j w_j·(x_j − x) to acc. Both ends of an edge add exact negatives of each other. The worker's own payload
// is not needed.
func (f Full) Mix(acc []float32, _ int, x []float32, _ []byte, in []Message) (Mixed, error) {
	const most = 32 // neighbours without an allocation
	var (
		payloads [most][]byte
		factors  [most]float32
		theirs   = payloads[:0]
		weights  = factors[:0]
	)
	largest, err := f.Check(len(x), in)
	if err != nil {
		return Mixed{}, err
	}
	for _, m := range in {
		theirs, weights = append(theirs, m.Payload), append(weights, m.Weight)
	}
	return mixFloats(acc, x, theirs, weights, largest), nil
}

// mixFloats is Mix of payloads whose largest magnitude is known.
func mixFloats(acc, x []float32, theirs [][]byte, weights []float32, largest float32) Mixed {
	gap, moved := kernel.Best().MixFloats(acc, x, theirs, weights)
	return Mixed{Gap: math.Float32frombits(gap), Moved: moved, Largest: largest}
}
