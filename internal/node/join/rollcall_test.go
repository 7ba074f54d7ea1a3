package join

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"

	"gossiptrainer/internal/node/handshake"
	"gossiptrainer/internal/node/socket"
)

// A peer that hears of no other for 20 seconds names possible causes.
func TestAPeerThatIsAloneNamesMulticast(t *testing.T) {
	for name, sought := range map[string]map[peer.ID]bool{"alone": nil, "one was found": {"somebody": true}} {
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
