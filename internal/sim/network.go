package sim

import (
	"gossiptrainer/internal/shape"
	"gossiptrainer/internal/wire"
)

// Bytes that TLS 1.3 and yamux add to a piece of a frame. A piece is one message of yamux with a header of 12 bytes. It
// travels in TLS records of at most 16 KiB, each with 5 bytes of header, 1 of content type and 16 of tag.
const (
	yamuxHeader            = 12
	tlsRecord, tlsOverhead = 16 << 10, 22
)

// StreamBytes returns the bytes of a frame on the stream.
func StreamBytes(payload int) int { return wire.HeaderLen + payload }

// WireBytes returns the bytes on the wire of a frame of n bytes on the stream of a link. They include the overhead of
// TLS and yamux for each piece. The first piece fills one TLS record at most. Telemetry, which takes at most a fiftieth
// of a link, is not included.
func WireBytes(n int, link shape.Link) int {
	bytes, piece := 0, min(link.Piece(), shape.Record)
	for n > 0 {
		message := min(n, piece) + yamuxHeader
		bytes += message + tlsOverhead*((message+tlsRecord-1)/tlsRecord)
		n, piece = n-piece, link.Piece()
	}
	return bytes
}
