package shape

import "time"

// Record is how many bytes of a stream fill a TLS record of 16 KiB together with
// yamux's header of 12 bytes, and Chunk how many fill four of them, yamux's
// longest message: one byte more would travel in a message or a record of its own.
const (
	Record = 16<<10 - 12
	Chunk  = 64<<10 - 12
)

// Bounds of a piece, and how long the link should need for it: what is not a
// frame waits for one piece at most, and small ones cost headers.
const (
	leastPiece = 4 << 10
	pieceTime  = 50 * time.Millisecond
)

// Piece returns how many bytes of a frame are written to the link at once.
func (l Link) Piece() int {
	if l.Rate <= 0 {
		return Chunk
	}
	return int(min(max(l.Rate/8*pieceTime.Seconds(), leastPiece), Record))
}
