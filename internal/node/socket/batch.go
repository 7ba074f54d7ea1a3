package socket

import (
	"bufio"
	"net"
	"sync"
)

// together is how many bytes pass the socket in one system call. A TLS record
// holds 16 KiB at most, and TLS writes and reads one at a time: four of them make
// a message of yamux.
const together = 64<<10 + 512

// A batch is the connection below the encryption. Between hold and release, what
// is written gathers, and goes out as one.
type batch struct {
	net.Conn
	in *bufio.Reader

	mu      sync.Mutex // of what follows, and held while it goes out
	holding bool
	out     []byte
	failed  error // records that are cut off make the rest useless
}

func newBatch(below net.Conn) *batch {
	return &batch{Conn: below, in: bufio.NewReaderSize(below, together)}
}

// Read returns what there is.
func (b *batch) Read(p []byte) (int, error) { return b.in.Read(p) }

// Write takes p along while the batch is held, and writes it otherwise.
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

// hold begins to gather.
func (b *batch) hold() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.holding = true
}

// release writes what was gathered.
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
