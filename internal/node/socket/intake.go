package socket

import (
	"encoding/binary"
	"io"
	"net"
)

// An intake is the buffer below the encryption. During a handshake its reads end with a record, so that
// no later byte gets into the buffer of crypto/tls.
type intake struct {
	net.Conn
	buffer   []byte
	have     []byte // of buffer: read from the connection, not yet taken
	record   int    // bytes left of the current record of a handshake
	complete bool   // the handshake is over
}

// intakeLen is how many bytes one system call may bring: eight records.
const intakeLen = 8 * (recordLen + recordMore)

func newIntake(c net.Conn) *intake { return &intake{Conn: c, buffer: make([]byte, 4<<10)} }

// whole ends the handshake: bytes are taken as they come.
func (n *intake) whole() {
	buffer := make([]byte, intakeLen)
	n.have = buffer[:copy(buffer, n.have)]
	n.buffer, n.complete = buffer, true
}

// peek returns the bytes that are there.
func (n *intake) peek() []byte { return n.have }

// take returns the next bytes, at most intakeLen. They are valid until the next call. The error is io.EOF
// only if none came.
func (n *intake) take(bytes int) ([]byte, error) {
	for len(n.have) < bytes {
		if err := n.more(); err != nil {
			if err == io.EOF && len(n.have) > 0 {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
	b := n.have[:bytes]
	n.have = n.have[bytes:]
	return b, nil
}

// more reads what the connection has.
func (n *intake) more() error {
	kept := copy(n.buffer, n.have)
	got, err := n.Conn.Read(n.buffer[kept:])
	n.have = n.buffer[:kept+got]
	if got > 0 {
		return nil
	}
	return err
}

// Read returns bytes of one record.
func (n *intake) Read(p []byte) (int, error) {
	if n.record == 0 && !n.complete {
		for len(n.have) < recordHead {
			if err := n.more(); err != nil {
				return 0, err
			}
		}
		n.record = recordHead + int(binary.BigEndian.Uint16(n.have[3:]))
	}
	if len(n.have) == 0 {
		if err := n.more(); err != nil {
			return 0, err
		}
	}
	b := n.have
	if !n.complete {
		b = b[:min(len(b), n.record)]
	}
	k := copy(p, b)
	n.have = n.have[k:]
	if !n.complete {
		n.record -= k
	}
	return k, nil
}

// Chunk returns at most most bytes, which are valid until the next call.
func (n *intake) Chunk(most int) ([]byte, error) {
	if len(n.have) == 0 {
		if err := n.more(); err != nil {
			return nil, err
		}
	}
	b := n.have[:min(most, len(n.have))]
	n.have = n.have[len(b):]
	return b, nil
}

// Waiting reports whether Chunk returns at once.
func (n *intake) Waiting() bool { return len(n.have) > 0 }
