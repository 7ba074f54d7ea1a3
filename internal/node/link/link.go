// Package link moves frames between a worker and its neighbours: at most once, and in order within a
// link. An edge per neighbour makes a link, and another one after a loss. A link is one stream with
// its writer and its reader.
//
// It knows bytes, frames and neighbours. Its user interprets the frames, handles lost links, and
// controls the links by gossip.Control.
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

// A link is one stream, with one goroutine that writes and one that reads. Half a frame makes the
// stream unusable, so any error ends the link, and the edge makes another.
type link struct {
	to      *neighbour
	stream  network.Stream
	process uint64 // number of the process at the other end
	out     *queue
	in      incoming
	ended   sync.WaitGroup
	over    chan struct{} // closed when the link has ended
	once    sync.Once
	why     error

	mu          sync.Mutex
	told, heard bool // whether Bye was sent, and received
}

// incoming is the state of a link's reader.
type incoming struct {
	*bufio.Reader
	silence func() time.Duration // time since the last byte; nil over QUIC
	decoder entropy.Decoder
	coded   []byte // buffer for a coded payload
}

func newLink(to *neighbour, t *handshake.Talk) *link {
	return &link{
		to: to, stream: t.Stream, process: t.Theirs.Epoch, out: newQueue(),
		in:   incoming{Reader: t.In, silence: socket.Silence(t.Stream.Conn())},
		over: make(chan struct{}),
	}
}

// fail ends the link; the first reason counts. Both goroutines notice at their next use of the stream.
func (k *link) fail(why error) {
	k.once.Do(func() {
		k.why = why
		close(k.over)
		k.stream.Reset()
		if k.to.order != nil {
			k.to.order.wake()
		}
	})
}

// isOver reports whether the link has ended.
func (k *link) isOver() bool {
	select {
	case <-k.over:
		return true
	default:
		return false
	}
}

// wait waits for both goroutines. left says that both ends sent Bye: no frame is missing and neither
// end waits.
func (k *link) wait() (why error, left bool) {
	<-k.over
	k.ended.Wait()
	return k.why, k.told && k.heard
}

// parting notes one Bye. After the second one this end closes its half of the stream, which tells the
// other end that its Bye has arrived.
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
