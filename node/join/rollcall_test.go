package join

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"

	"gossiptrainer/node/handshake"
	"gossiptrainer/node/socket"
)

// A peer that hears of no other for 20 seconds names possible causes.
func TestAPeerThatIsAloneNamesMulticast(t *testing.T) {
	one := map[peer.ID]context.CancelFunc{"somebody": func() {}}
	for name, sought := range map[string]map[peer.ID]context.CancelFunc{"alone": nil, "one was found": one} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
			defer cancel()
			r := &RollCall{c: Config{Hello: handshake.Hello{N: 2}}, census: newCensus("me", 2), changed: make(chan struct{})}
			r.census.sought = sought
			var told []string
			r.members(ctx, func(_ int, detail string) {
				told = append(told, fmt.Sprint(time.Since(r.census.began), ": ", detail))
			})
			want := []string{"0s: looking for peers", "10s: 1 of 2 peers are here", "20s: 1 of 2 peers are here"}
			if sought == nil {
				want[2] += "; heard of no other in 20s: " + apart
			}
			if !slices.Equal(told, want) {
				t.Errorf("%s: told %q, want %q", name, told, want)
			}
		})
	}
	got := socket.Cause(&swarm.DialError{Cause: swarm.ErrNoAddresses})
	if !strings.Contains(got, "no address: the run file has none") {
		t.Errorf("a roster without addresses: %q", got)
	}
	for _, word := range []string{"firewall", "multicast", "peers:"} {
		if !strings.Contains(apart, word) {
			t.Errorf("%q does not name %s", apart, word)
		}
	}
}

// A stranger that announces many peers does not keep the others out, and takes no more memory.
func TestPeersThatWereNotMetMakeRoom(t *testing.T) {
	r := newCensus("me", 2)
	stopped := 0
	stop := func() { stopped++ }
	for i := range r.room() {
		if _, begin, ok := r.remember(peer.ID(fmt.Sprint(i)), stop); !begin || !ok {
			t.Fatalf("peer %d has no room", i)
		}
	}
	if _, begin, ok := r.remember("honest", stop); begin || ok {
		t.Error("there is room, though all others may still be met")
	}
	r.miss("7", errors.New("no answer"), time.Second)
	if gone, begin, ok := r.remember("honest", stop); gone != "7" || !begin || !ok || stopped != 1 {
		t.Errorf("forgot %q, begins %v, room %v, %d searches ended: want the one that was not met", gone, begin, ok, stopped)
	}
	for i := range 10 * r.room() {
		r.miss(peer.ID(fmt.Sprint("caller ", i)), errors.New("no answer"), time.Second)
	}
	if n := len(r.sought) + len(r.last); n > 3*r.room() {
		t.Errorf("%d peers remembered", n)
	}
}

// A machine that has not proven the secret ends nothing. After a long search it is named as the likely reason.
func TestWhoProvesNothingIsALikelyReason(t *testing.T) {
	r := newCensus("me", 2)
	r.miss("a", &handshake.UnprovenError{Peer: "a", Reason: handshake.OtherSecret, Detail: "join secret differs",
		Advice: "copy the secret"}, time.Second)
	if got := r.describe(time.Second); strings.Contains(got, "likely") || !strings.Contains(got, "join secret differs") {
		t.Errorf("at once: %q", got)
	}
	got := r.describe(2 * lonely)
	if !strings.Contains(got, ": join secret differs: copy the secret") || !strings.Contains(got, "likely the reason") ||
		strings.Contains(got, "multicast") {
		t.Errorf("after a long search: %q", got)
	}
	r = newCensus("me", 2)
	for reason := range handshake.RunOver + 1 {
		for i := range 100 {
			id := peer.ID(fmt.Sprint(reason, " ", i))
			r.miss(id, &handshake.UnprovenError{Reason: reason, Detail: fmt.Sprint("claim ", reason), Remote: true}, 0)
			r.miss("x"+id, errors.New("no answer"), 0)
		}
	}
	if got := r.describe(2 * lonely); r.hopeless() || len(got) > 1000 || strings.Contains(got, "likely") {
		t.Errorf("strangers make it hopeless (%v), or say too much: %q", r.hopeless(), got)
	}
}

// A machine that announces the identity of this one is named in the place of multicast, which passes.
func TestATwinIsNamed(t *testing.T) {
	r := newCensus("me", 2)
	r.twin = &socket.TwinError{At: "/ip4/10.0.0.2/tcp/4001", KeyFile: "peer.key"}
	got := r.describe(2 * lonely)
	for _, want := range []string{"10.0.0.2", "the identity of this peer", "if peer.key was copied", "move it away"} {
		if !strings.Contains(got, want) || strings.Contains(got, "multicast") {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
