package link

import (
	"context"
	"testing"

	"github.com/libp2p/go-libp2p/core/network"

	"gossiptrainer/node/handshake"
)

// A resetStream notes a reset.
type resetStream struct {
	network.Stream
	reset bool
}

func (s *resetStream) ResetWithError(network.StreamErrorCode) error {
	s.reset = true
	return nil
}

// A neighbour takes an open stream for a link, so no stream may stay open without a reader.
func TestStreamsWithoutReaderAreReset(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	e := &edge{neighbour: neighbour{shared: &shared{ctx: ctx}}, arrived: make(chan *handshake.Talk, 1)}
	var older, newer, taken, late resetStream
	e.deliver(&handshake.Talk{Stream: &older})
	e.deliver(&handshake.Talk{Stream: &newer})
	if !older.reset || newer.reset {
		t.Errorf("reset: the older stream %v, the newer one %v; want only the older one", older.reset, newer.reset)
	}
	e.putBack(&handshake.Talk{Stream: &taken})
	if !taken.reset || newer.reset {
		t.Errorf("reset: a stream that run puts back %v, a newer one %v; want only the first", taken.reset, newer.reset)
	}
	cancel()
	e.run()
	if !newer.reset {
		t.Error("run has ended and left a stream open")
	}
	e.deliver(&handshake.Talk{Stream: &late})
	if !late.reset {
		t.Error("a stream that came after the end of run stays open")
	}
}
