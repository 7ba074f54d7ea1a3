package node

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

// Both ends name the machine, the key and both values, and what to do.
func TestADifferenceIsNamedWithBothValues(t *testing.T) {
	c := new(town)
	advice := "copy the files"
	first := join(t.Context(), c.settle(t, 2, func(o *Options) {
		o.Host = "alpha"
		o.Sections = append(o.Sections, Section{Name: "data set", JSON: []byte(`{"rows":60000}`), Advice: advice})
	}))
	second := join(t.Context(), c.settle(t, 2, func(o *Options) {
		o.Host = "beta"
		o.Sections = append(o.Sections, Section{Name: "data set", JSON: []byte(`{"rows":50000}`), Advice: advice})
	}))
	for _, end := range []struct {
		wait <-chan joined
		want []string
	}{
		{first, []string{"cannot work with beta (", "data set.rows is 60000 here and 50000 there"}},
		{second, []string{"cannot work with alpha (", "data set.rows is 50000 here and 60000 there"}},
	} {
		err := (<-end.wait).err
		for _, want := range end.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want it to say %q", err, want)
			}
		}
		hinted, ok := errors.AsType[interface {
			error
			Hint() string
		}](err)
		if !ok || hinted.Hint() != advice {
			t.Errorf("error %v, want the hint %q", err, advice)
		}
	}
}

// Before the secret is proven a peer tells neither settings nor the name of its machine.
func TestAStrangerLearnsNoSettings(t *testing.T) {
	c := new(town)
	settle := func(host, secret, batch string) *Node {
		return c.settle(t, 2, func(o *Options) {
			o.Host, o.JoinSecret = host, secret
			o.Sections[1].JSON = []byte(`{"batch":` + batch + `}`)
		})
	}
	a, b := settle("alpha", "open sesame", "12345"), settle("beta", "open barley", "67890")
	join(t.Context(), a)
	join(t.Context(), b)
	for _, p := range []*Node{a, b} {
		eventually(t, "a refusal", func() bool { return p.Counters().Refused["refused join secret"] > 0 })
		p.roll.mu.Lock()
		said := p.roll.describe(time.Minute)
		p.roll.mu.Unlock()
		for _, secret := range []string{"alpha", "beta", "12345", "67890"} {
			if strings.Contains(said, secret) {
				t.Errorf("%q tells %q", said, secret)
			}
		}
	}
}

// A peer that hears of no other for 20 seconds says what may keep them apart.
func TestAPeerThatIsAloneNamesMulticast(t *testing.T) {
	for name, sought := range map[string]map[peer.ID]bool{"alone": nil, "one was found": {"somebody": true}} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
			defer cancel()
			r := &rollCall{me: handshake.Hello{N: 2}, assembly: newAssembly("me", 2), began: time.Now(), sought: sought, changed: make(chan struct{})}
			var told []string
			r.members(ctx, func(_ int, detail string) { told = append(told, fmt.Sprint(time.Since(r.began), ": ", detail)) })
			want := []string{"0s: looking for peers", "10s: 1 of 2 peers are here", "20s: 1 of 2 peers are here"}
			if sought == nil {
				want[2] += "; heard of no other in 20s: " + apart
			}
			if !slices.Equal(told, want) {
				t.Errorf("%s: told %q, want %q", name, told, want)
			}
		})
	}
	if got := socket.Cause(&swarm.DialError{Cause: swarm.ErrNoAddresses}); !strings.Contains(got, "no address: the run file has none") {
		t.Errorf("a roster without addresses: %q", got)
	}
	for _, word := range []string{"firewall", "multicast", "peers:"} {
		if !strings.Contains(apart, word) {
			t.Errorf("%q does not name %s", apart, word)
		}
	}
}
