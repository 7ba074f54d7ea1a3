package link

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
	"gossiptrainer/node/socket"
)

// A scriptedStream is a stream whose other end has sent all its bytes.
type scriptedStream struct{ network.Stream }

func (scriptedStream) SetReadDeadline(time.Time) error { return nil }
func (scriptedStream) CloseWrite() error               { return nil }

// A neighbour may send any bytes on its link. Delivered frames are within the bounds of the run, and
// other bytes end the link with a reason.
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
	f.Add(frame(wire.Header{Kind: wire.Bye}, handshake.EncodeStop(&handshake.StoppedError{Rank: 1, Reason: "r"})))
	f.Add(frame(wire.Header{Kind: wire.Repair, Round: 1 << 20, Hop: 1 << 15, Note: 1 << 63}, make([]byte, limit)))
	f.Add(frame(wire.Header{Kind: wire.Data, Coder: entropy.Zstd}, make([]byte, 17)))
	f.Fuzz(func(t *testing.T, bytesIn []byte) {
		all := &shared{
			Config: Config{
				Members: handshake.Members{IDs: make([]peer.ID, 2)}, Limit: limit, Refused: new(socket.Refusals),
			},
			events: make(chan Event, 1+len(bytesIn)/wire.HeaderLen), ctx: t.Context(),
		}
		k := &link{
			to: &neighbour{shared: all, rank: 1}, stream: scriptedStream{}, process: epoch,
			in: incoming{Reader: bufio.NewReader(bytes.NewReader(bytesIn))},
		}
		if err := k.read(); err == nil || errors.Is(err, bufio.ErrBufferFull) {
			t.Fatalf("the stream has ended, but not the link: %v", err)
		}
		close(all.events)
		for e := range all.events {
			if len(e.Frame.Payload) > limit || e.Frame.Round < 0 || e.Frame.From != 0 && e.Frame.From != 1 {
				t.Fatalf("out of bounds: %+v", e)
			}
		}
	})
}
