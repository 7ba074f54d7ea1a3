package sim

import (
	"gossiptrainer/gossip"
	"gossiptrainer/wire"
)

// Bytes that TLS 1.3 and yamux add on a stream: a yamux header of 12 bytes per
// message of at most 64 KiB, and a TLS record of at most 16 KiB with 5 bytes of
// header, 1 of content type and 16 of tag.
const (
	yamuxMessage, yamuxHeader = 64 << 10, 12
	tlsRecord, tlsOverhead    = 16 << 10, 22
)

// StreamBytes returns the bytes of a frame on the stream.
func StreamBytes(payload int) int { return wire.HeaderLen + payload }

// payloadBytes returns the bytes of a frame that are the algorithm's payload:
// requests and repairs count as overhead of the stream.
func payloadBytes(f *gossip.Frame) int64 {
	if f.Kind != gossip.Data {
		return 0
	}
	return int64(len(f.Payload))
}

// WireBytes returns the bytes at the socket of n bytes on the stream, as TLS
// and yamux make them.
func WireBytes(n int) int {
	n += yamuxHeader * ((n + yamuxMessage - 1) / yamuxMessage)
	return n + tlsOverhead*((n+tlsRecord-1)/tlsRecord)
}
