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

	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/node/handshake"
	"gossiptrainer/node/socket"
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

	mu sync.Mutex
	words
}

// A word is what an end last said about its need of the link.
type word uint8

const (
	needed  word = iota // or nothing
	resting             // the end needs no link for now
	bye                 // nor ever again
)

// words are what both ends said last. A link on which they said the same ends.
type words struct {
	told, heard word
	agreed      word // the word that has ended the link; needed: none
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
		to: to, stream: t.Stream, process: t.Theirs.Epoch, out: newQueue(to.order),
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
	})
}

// wait waits for both goroutines, and returns the word on which both ends have agreed. After bye or
// resting no frame is missing and neither end waits.
func (k *link) wait() (agreed word, why error) {
	<-k.over
	k.ended.Wait()
	return k.agreed, k.why
}

// says notes a word of this end, and hears one of the other end. When both have said the same, this end closes its
// half of the stream, which tells the other end that its word has arrived. Words after that, or after a bye, do not
// count.
func (k *link) says(w word) error  { return k.parting(&k.told, w) }
func (k *link) hears(w word) error { return k.parting(&k.heard, w) }

func (k *link) parting(last *word, w word) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.agreed != needed || *last == bye {
		return nil
	}
	*last = w
	if k.told != k.heard || k.told == needed {
		return nil
	}
	k.agreed = k.told
	return k.stream.CloseWrite()
}

// closed notes that the other end has closed its half of the stream. It does so in good order after both
// ends have said that they rest, even if this end has changed its mind since.
func (k *link) closed() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.agreed == needed && k.heard == resting {
		k.agreed = resting
	}
}

// stays reports whether both ends need the link, as far as they have said.
func (k *link) stays() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.told == needed && k.heard == needed
}

// parted reports whether this end has closed its half of the stream, or the other end has.
func (k *link) parted() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.agreed != needed
}
