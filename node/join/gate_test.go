package join

import (
	"fmt"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	manet "github.com/multiformats/go-multiaddr/net"

	"gossiptrainer/node/identity"
	"gossiptrainer/node/socket"
)

// guarded starts a host on loopback behind a gate of its own.
func guarded(t *testing.T) (*socket.Host, *Gate, *socket.Refusals) {
	t.Helper()
	who, err := identity.Ephemeral()
	if err != nil {
		t.Fatal(err)
	}
	refused := new(socket.Refusals)
	gate := NewGate(2, refused, slog.New(slog.DiscardHandler))
	h, err := socket.New(socket.Config{Key: who.Key(), Listen: []string{"/ip4/127.0.0.1/tcp/0"}, Workers: 2, Gate: gate})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close(); gate.Close() })
	return h, gate, refused
}

// soon waits for an event in other goroutines.
func soon(t *testing.T, what string, happened func() bool) {
	t.Helper()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for range 12_000 { // two minutes: a machine may be busy
		if happened() {
			return
		}
		<-look.C
	}
	t.Fatalf("%s: did not happen", what)
}

func TestAnAddressThatCallsTooOftenIsTurnedAway(t *testing.T) {
	honest, _, refused := guarded(t)
	_, at, err := manet.DialArgs(honest.Addrs()[0])
	if err != nil {
		t.Fatal(err)
	}
	for range 2 * (callBurst + 4*2) {
		c, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(c, "GET / HTTP/1.1\r\n\r\n")
		c.Close()
	}
	soon(t, "a refusal", func() bool { return refused.Read()["refused address"] > 0 })
}

func TestTheOldestVisitorMakesRoom(t *testing.T) {
	honest, gate, _ := guarded(t)
	gate.room = 1
	first, _, _ := guarded(t)
	second, _, _ := guarded(t)
	at := peer.AddrInfo{ID: honest.ID(), Addrs: honest.Addrs()}
	there := func(h *socket.Host) bool { return honest.Network().Connectedness(h.ID()) == network.Connected }
	if err := first.Connect(t.Context(), at); err != nil {
		t.Fatal(err)
	}
	soon(t, "the first", func() bool { return there(first) })
	if err := second.Connect(t.Context(), at); err != nil {
		t.Fatal(err)
	}
	soon(t, "the first to go", func() bool { return !there(first) && there(second) })
}
