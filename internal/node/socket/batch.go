package socket

import (
	"bufio"
	"net"
	"sync"
)

// together is how many bytes one system call passes to the socket. A TLS record holds 16 KiB at most,
// and TLS writes and reads one at a time: a message of yamux takes four of them.
const together = 64<<10 + 512

// A batch is the connection below the encryption. Between hold and release it gathers the bytes
// written and then writes them at once.
type batch struct {
	net.Conn
	in *bufio.Reader

	mu      sync.Mutex // guards the fields below; held while a batch is written
	holding bool
	out     []byte
	failed  error // after half a record, the rest is useless
}

func newBatch(below net.Conn) *batch {
	return &batch{Conn: below, in: bufio.NewReaderSize(below, together)}
}

// Read reads from the connection.
func (b *batch) Read(p []byte) (int, error) { return b.in.Read(p) }

// Write adds p to the batch while that is held, and otherwise writes p.
func (b *batch) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failed != nil {
		return 0, b.failed
	}
	if !b.holding {
		return b.Conn.Write(p)
	}
	b.out = append(b.out, p...)
	if len(b.out) < together-len(p) {
		return len(p), nil
	}
	if err := b.flush(); err != nil {
		return 0, err
	}
	return len(p), nil
}

// hold starts gathering.
func (b *batch) hold() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.holding = true
}

// release writes the gathered bytes.
func (b *batch) release() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.holding = false
	return b.flush()
}

func (b *batch) flush() error {
	if len(b.out) == 0 || b.failed != nil {
		return b.failed
	}
	_, b.failed = b.Conn.Write(b.out)
	b.out = b.out[:0]
	return b.failed
}
