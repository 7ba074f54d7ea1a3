package socket

import (
	"bufio"
	"net"
	"sync"
)

// Sizes of the buffers above a socket. A system call moves many records of TLS, each with 16 KiB of data and a header.
const (
	intakeLen  = 128 << 10
	gatherLen  = 84 << 10
	mostRecord = 17 << 10
)

// A gather is the socket below crypto/tls. It reads many records with one system call. While a message is
// being written, it keeps the records of the message and passes them on together.
type gather struct {
	net.Conn
	in *bufio.Reader

	mu     sync.Mutex
	out    []byte
	keeps  bool  // a message is being written
	broken error // of a write: after half a record, the rest is useless
}

func newGather(c net.Conn) *gather { return &gather{Conn: c, in: bufio.NewReaderSize(c, intakeLen)} }

// Read returns bytes of the socket.
func (g *gather) Read(p []byte) (int, error) { return g.in.Read(p) }

// Write passes p on, at the end of the message if one is being written. crypto/tls also writes alerts and
// keys of its own accord.
func (g *gather) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.out = append(g.out, p...); !g.keeps || len(g.out) >= gatherLen-mostRecord {
		g.flush()
	}
	return len(p), g.broken
}

// message begins a message, or ends it.
func (g *gather) message(begins bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.keeps = begins; !begins {
		g.flush()
	}
	return g.broken
}

// idle reports whether no write waits for the socket.
func (g *gather) idle() bool {
	idle := g.mu.TryLock()
	if idle {
		g.mu.Unlock()
	}
	return idle
}

func (g *gather) flush() {
	if g.broken == nil && len(g.out) > 0 {
		_, g.broken = g.Conn.Write(g.out)
	}
	g.out = g.out[:0]
}
