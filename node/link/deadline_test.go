package link

import (
	"bufio"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/network"

	"gossiptrainer/internal/shape"
	"gossiptrainer/internal/wire"
)

// slowStream delivers a few bytes every ten seconds.
type slowStream struct {
	network.Stream
	deadline time.Time
}

func (s *slowStream) SetReadDeadline(t time.Time) error {
	s.deadline = t
	return nil
}

func (s *slowStream) Read(b []byte) (int, error) {
	<-time.After(10 * time.Second)
	if !time.Now().Before(s.deadline) {
		return 0, os.ErrDeadlineExceeded
	}
	return min(len(b), 4<<10), nil
}

// Many links that share a slow uplink each carry a piece now and then. That is progress, though a
// chunk takes minutes.
func TestSlowFramesArrive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(slowStream)
		k := &link{to: new(neighbour), stream: s, in: incoming{Reader: bufio.NewReader(s)}}
		due := &deadline{set: s.SetReadDeadline, allow: 15 * time.Second}
		if err := k.fill(make([]byte, 2*shape.Chunk), new(wire.Header), due); err != nil {
			t.Errorf("a piece every ten seconds: %v", err)
		}
	})
}
