// Package mux carries streams over one connection, in the format of yamux
// (https://github.com/libp2p/specs/blob/master/yamux/README.md). It differs from the library in the work
// per byte. A writer passes its bytes to the connection itself, and a reader that waits gets its bytes
// without another buffer. The library wakes one more goroutine for each frame.
//
// It knows no peer and no encryption. Either end may be the library's.
package mux

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/libp2p/go-libp2p/core/network"
)

// ID is the name under which peers agree on this protocol.
const ID = "/yamux/1.0.0"

// Kinds of frames. Data is followed by its bytes; a window grants bytes to the sender of a stream; a
// ping is answered; a goAway ends the connection.
const (
	kindData byte = iota
	kindWindow
	kindPing
	kindGoAway
)

// Flags of frames of a stream, and of pings.
const (
	flagSYN uint16 = 1 << iota // begins a stream; asks for an answer to a ping
	flagACK                    // accepts a stream; answers a ping
	flagFIN                    // the sender writes no more
	flagRST                    // the stream is over
)

const (
	headLen = 12
	// mostFrame is how many bytes of a stream travel in one frame: with the header, four full records of TLS.
	mostFrame = 64<<10 - headLen
	// firstWindow is how many bytes a stream may send before the first grant.
	firstWindow = 256 << 10
)

// A head is the header of a frame: version 0, kind, flags, stream and length, big endian.
type head [headLen]byte

func newHead(kind byte, flags uint16, stream, length uint32) (h head) {
	h[1] = kind
	binary.BigEndian.PutUint16(h[2:], flags)
	binary.BigEndian.PutUint32(h[4:], stream)
	binary.BigEndian.PutUint32(h[8:], length)
	return h
}

func (h *head) version() byte  { return h[0] }
func (h *head) kind() byte     { return h[1] }
func (h *head) flags() uint16  { return binary.BigEndian.Uint16(h[2:]) }
func (h *head) stream() uint32 { return binary.BigEndian.Uint32(h[4:]) }
func (h *head) length() uint32 { return binary.BigEndian.Uint32(h[8:]) }

// Codes of a goAway.
const (
	goAwayNormal uint32 = iota
	goAwayProtocol
)

// Reasons for the end of a session or a stream.
var (
	errProtocol   = errors.New("mux: the other end breaks the protocol")
	errClosed     = errors.New("mux: session closed")
	errWritten    = errors.New("mux: stream closed for writing")
	errUnanswered = errors.New("mux: the other end does not answer")
)

// A timeoutError says that the deadline of a stream has passed.
type timeoutError struct{}

func (timeoutError) Error() string   { return "mux: deadline of the stream has passed" }
func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }

// ended returns the error of streams whose session has ended because of why.
func ended(why error) error {
	if _, ok := errors.AsType[*network.ConnError](why); ok {
		return why
	}
	return fmt.Errorf("%w: connection closed: %w", network.ErrReset, why)
}

// reset returns the error of a stream that one end has reset.
func reset(remote bool, code uint32) error {
	return &network.StreamError{Remote: remote, ErrorCode: network.StreamErrorCode(code)}
}
