package handshake_test

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"

	"gossiptrainer/node/handshake"
	"gossiptrainer/node/identity"
	"gossiptrainer/node/socket"
	"gossiptrainer/test/strangers/outsider"
)

const loopback = "/ip4/127.0.0.1/tcp/0"

// No bytes of a machine without the secret, at any stage, are a refusal of a member, and none of its words are
// repeated. That holds for every reason, so that the next one needs no care.
func TestNothingThatAStrangerSendsIsARefusal(t *testing.T) {
	who, err := identity.Ephemeral()
	if err != nil {
		t.Fatal(err)
	}
	honest, err := socket.New(socket.Config{Key: who.Key(), Listen: []string{loopback}, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer honest.Close()
	on := outsider.Protocols[0]
	ended := make(chan error, 1)
	var talks sync.WaitGroup
	honest.SetStreamHandler(on, func(s network.Stream) {
		talks.Add(1)
		defer talks.Done()
		a := &handshake.Admission{Self: honest.ID(), Run: "run", Secret: []byte("secret")}
		accept := func(handshake.Hello) *handshake.RefusedError { return nil }
		ended <- handshake.New(s).Greet(a, handshake.Hello{N: 2, Dim: 1}, accept)
		s.Reset()
	})
	stranger, err := outsider.New(loopback, new(atomic.Int64))
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Host.Close()
	over := make(chan int, 1)
	go func() {
		over <- stranger.Call(t.Context(), peer.AddrInfo{ID: honest.ID(), Addrs: honest.Addrs()}, on)
		honest.Close() // ends talks, and begins no more
		talks.Wait()
		close(ended)
	}()
	claims := 0
	for err := range ended {
		if _, refused := errors.AsType[*handshake.RefusedError](err); refused || err == nil {
			t.Errorf("a stranger is believed: %v", err)
		}
		if err != nil && strings.Contains(err.Error(), outsider.Words) {
			t.Errorf("%q repeats a stranger's words", err)
		}
		if no, ok := errors.AsType[*handshake.UnprovenError](err); ok && no.Remote {
			claims++
		}
	}
	if heard := <-over; heard < 4*outsider.Reasons || claims < 2*outsider.Reasons {
		t.Errorf("%d plays heard, %d claims noticed: want all", heard, claims)
	}
}
