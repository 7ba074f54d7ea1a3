package node

import (
	"bufio"
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"

	"gossiptrainer/internal/wire"
	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/node/handshake"
)

// A scriptedStream is a stream whose other end has sent all that it will.
type scriptedStream struct{ network.Stream }

func (scriptedStream) SetReadDeadline(time.Time) error { return nil }
func (scriptedStream) CloseWrite() error               { return nil }

// A neighbour may send anything on its link: what comes through is within the
// bounds of the run, and the rest ends the link with a reason.
func FuzzLink(f *testing.F) {
	const epoch, limit = 7, 1 << 12
	frame := func(h wire.Header, payload []byte) []byte {
		h.Epoch = epoch
		text, err := wire.AppendFrame(nil, h, payload)
		if err != nil {
			f.Fatal(err)
		}
		return text
	}
	data := frame(wire.Header{Kind: wire.Data, Round: 3}, []byte("payload"))
	f.Add(data)
	f.Add(append(data, data[:20]...))
	f.Add(frame(wire.Header{Kind: wire.Resend, Round: 1 << 31, Hop: 1<<16 - 1}, nil))
	f.Add(frame(wire.Header{Kind: wire.Durable, Round: 7}, []byte("nobody reads this")))
	f.Add(frame(wire.Header{Kind: wire.Bye}, nil))
	f.Add(frame(wire.Header{Kind: wire.Bye}, handshake.EncodeStop(&StoppedError{Rank: 1, Reason: "r"})))
	f.Add(frame(wire.Header{Kind: wire.Repair, Round: 1 << 20, Hop: 1 << 15, Note: 1 << 63}, make([]byte, limit)))
	f.Add(frame(wire.Header{Kind: wire.Data, Coder: entropy.Zstd}, []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}))
	f.Fuzz(func(t *testing.T, bytesIn []byte) {
		l := &links{
			roster: handshake.Members{IDs: make([]peer.ID, 2)}, limit: limit, events: make(chan Event, 1+len(bytesIn)/wire.HeaderLen),
			refused: new(refusals), ctx: t.Context(),
		}
		k := &link{edge: &edge{links: l, rank: 1}, stream: scriptedStream{}, in: bufio.NewReader(bytes.NewReader(bytesIn)), epoch: epoch}
		if err := k.read(); err == nil || errors.Is(err, bufio.ErrBufferFull) {
			t.Fatalf("the stream has ended, but not the link: %v", err)
		}
		close(l.events)
		for e := range l.events {
			if len(e.Frame.Payload) > limit || e.Frame.Round < 0 || e.Frame.From != 0 && e.Frame.From != 1 {
				t.Fatalf("out of bounds: %+v", e)
			}
		}
	})
}
