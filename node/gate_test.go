package node

import (
	"context"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"
	manet "github.com/multiformats/go-multiaddr/net"

	"gossiptrainer/node/handshake"
	"gossiptrainer/node/link"
)

// callOn connects a new stranger to n and reports whether the connection lasts until n answers.
func callOn(ctx context.Context, t *testing.T, n *Node) (told bool) {
	t.Helper()
	s := both(t, nil).nodes[0]
	if err := s.host.Connect(ctx, peer.AddrInfo{ID: n.host.ID(), Addrs: n.host.Addrs()}); err != nil {
		return false
	}
	stream, err := s.host.NewStream(ctx, n.host.ID(), link.Protocol)
	if err != nil {
		return false
	}
	err = handshake.New(stream).Greet(&s.admission, s.me, s.me.CompareShape)
	return err != nil && strings.Contains(err.Error(), "is not in the roster")
}

// fewStrangers are told why they are refused; after that, one more every five seconds.
const fewStrangers = 4

func TestFewStrangersAreToldWhyAndTheRestTurnedAway(t *testing.T) {
	c := both(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	honest := c.nodes[1]
	w := task{n: 2, dim: 100, rounds: 3}.worker(t, 1)
	over := make(chan struct{})
	go func() { defer close(over); honest.Run(ctx, w) }()
	eventually(t, "the run", func() bool { return len(honest.counters().Links) > 0 })
	told := 0
	for range 2 * fewStrangers {
		if callOn(ctx, t, honest) {
			told++
		}
	}
	if told == 0 || told > fewStrangers+1 {
		t.Errorf("%d of %d strangers were told why, want a few", told, 2*fewStrangers)
	}
	if got := honest.counters().Refused["refused stranger"]; got < 2*fewStrangers { // some call twice
		t.Errorf("%d strangers counted, want at least %d", got, 2*fewStrangers)
	}
	if lines := strings.Count(c.logs.String(), "stranger"); lines > 4 {
		t.Errorf("%d lines about strangers in the log", lines)
	}
	cancel()
	<-over
}

// Strangers that send garbage change nothing, and none of their bytes count as a frame.
func TestGarbageChangesNothing(t *testing.T) {
	job := task{n: 2, dim: 1000, rounds: 300}
	c := both(t, nil)
	garbage := make([]byte, 10_000)
	rand.NewChaCha8([32]byte{}).Read(garbage)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for _, n := range c.nodes {
		_, at, err := manet.DialArgs(n.host.Addrs()[0])
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			for ctx.Err() == nil {
				if c, err := net.Dial("tcp", at); err == nil {
					c.Write(garbage)
					c.Close()
				}
			}
		})
	}
	finals, errs := c.run(t, t.Context(), job)
	cancel()
	wg.Wait()
	for i, want := range job.lockStep(t) {
		if errs[i] != nil || finals[i].Digest != want {
			t.Errorf("worker %d: digest %.8s, error %v, want %.8s", i, finals[i].Digest, errs[i], want)
		}
		seen := c.nodes[i].counters().Refused
		delete(seen, "refused address")
		if len(seen) > 0 {
			t.Errorf("worker %d: garbage was read: %v", i, seen)
		}
	}
}
