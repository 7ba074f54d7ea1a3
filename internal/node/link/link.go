// Package link moves frames between a worker and its neighbours: at most once, and in order
// while a link lives. One edge per neighbour makes a link, and another when it is lost; a
// link is one stream with its writer and its reader.
//
// It knows bytes, frames and neighbours. Its user decides what a frame means and what
// follows from a link that is gone, and steers it by gossip.Control.
package link

import (
	"bufio"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"

	"gossiptrainer/internal/node/handshake"
	"gossiptrainer/internal/node/socket"
	"gossiptrainer/internal/wire/entropy"
)

// A link is one stream, with one goroutine that writes and one that reads. A
// frame that is only half read or written makes the stream unusable, so any
// error ends the link; the edge makes another.
type link struct {
	to      *neighbour
	stream  network.Stream
	process uint64 // number of the process at the other end
	out     *queue
	in      incoming
	ended   sync.WaitGroup
	over    chan struct{} // closed when the link has ended, for whatever reason
	once    sync.Once
	why     error

	mu          sync.Mutex
	told, heard bool // Bye was sent, was received
}

// incoming is what comes in on a link, and what reading it needs.
type incoming struct {
	*bufio.Reader
	silence func() time.Duration // how long nothing has come; nil over QUIC
	decoder entropy.Decoder
	coded   []byte // payload that came in coded
}

func newLink(to *neighbour, t *handshake.Talk) *link {
	return &link{
		to: to, stream: t.Stream, process: t.Theirs.Epoch, out: newQueue(),
		in:   incoming{Reader: t.In, silence: socket.Silence(t.Stream.Conn())},
		over: make(chan struct{}),
	}
}

// fail ends the link; the first reason counts. Both goroutines notice at their
// next word with the stream.
func (k *link) fail(why error) {
	k.once.Do(func() {
		k.why = why
		close(k.over)
		k.stream.Reset()
	})
}

// wait waits for both goroutines. left says that both ends said Bye, so that
// nothing is missing and neither end waits.
func (k *link) wait() (why error, left bool) {
	<-k.over
	k.ended.Wait()
	return k.why, k.told && k.heard
}

// parting notes that one Bye has passed. Behind the second one this end closes
// its half of the stream, which tells the other that it has been heard.
func (k *link) parting(note func()) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	note()
	if k.told && k.heard {
		return k.stream.CloseWrite()
	}
	return nil
}

// parted reports whether this end has closed its half of the stream.
func (k *link) parted() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.told && k.heard
}
