package node

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gossiptrainer/internal/shape"
	"gossiptrainer/node/identity"
)

// Two processes have one identity. The links of the first one stay up; the second one ends and says
// why, whether it called or was called.
func TestADuplicateGivesUpAndTheRunGoesOn(t *testing.T) {
	t.Parallel() // it waits for links
	for rank := range 2 {
		job := task{n: 2, dim: 100, rounds: 1 << 30}
		slow := shape.Network{Uplink: shape.Link{Latency: time.Millisecond}} // leaves the processors idle
		c := both(t, func(_ int, o *Options) { o.Network = slow })
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for i, n := range c.nodes {
			w := job.worker(t, i)
			wg.Go(func() { n.Run(ctx, w) })
		}
		eventually(t, "training", func() bool { return c.nodes[1].counters().Sent.Stream > 10_000 })
		first, other := c.nodes[rank], c.nodes[1-rank]
		duplicate, err := New(Options{
			RunID: first.opts.RunID, N: 2, Network: slow, Dim: 100, Detect: time.Second, Sections: first.opts.Sections,
			Identity: first.opts.Identity, Listen: []string{"/ip4/127.0.0.1/tcp/0"},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer duplicate.Close()
		roster := []Peer{{ID: c.nodes[0].ID()}, {ID: c.nodes[1].ID()}}
		roster[1-rank].Addrs = other.Addrs()
		if err := duplicate.SetRoster(roster); err != nil {
			t.Fatal(err)
		}
		_, err = duplicate.Run(t.Context(), job.worker(t, rank))
		var net *NetworkError
		if !errors.As(err, &net) || !strings.Contains(err.Error(), "another process with the same identity") {
			t.Errorf("worker %d: error %v, want that there are two", rank, err)
		}
		if strings.Contains(c.logs.String(), "link down") {
			t.Errorf("worker %d: the link of the first has flapped", rank)
		}
		cancel()
		wg.Wait()
	}
}

func TestADuplicateGivesUpItsRollCall(t *testing.T) {
	t.Parallel() // it waits for links
	who, err := identity.Ephemeral()
	if err != nil {
		t.Fatal(err)
	}
	c := new(town)
	ctx, cancel := context.WithCancel(t.Context())
	same := func(o *Options) { o.Identity = who }
	first := c.settle(t, 3, nil)
	waits := []<-chan joined{joining(ctx, first), joining(ctx, c.settle(t, 3, same))}
	eventually(t, "a call", func() bool {
		return first.Status().Here == 2
	})
	duplicate := <-joining(t.Context(), c.settle(t, 3, func(o *Options) { same(o); o.Detect = time.Second }))
	var net *NetworkError
	const want = "another process with the same identity"
	if !errors.As(duplicate.err, &net) || !strings.Contains(duplicate.err.Error(), want) {
		t.Errorf("error %v, want that there are two", duplicate.err)
	}
	cancel()
	for _, wait := range waits {
		<-wait
	}
}

// oneKey returns an identity that two machines read from copies of one file.
func oneKey(t *testing.T) [2]*identity.Identity {
	t.Helper()
	path := filepath.Join(t.TempDir(), "peer.key")
	first, err := identity.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	second, err := identity.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return [2]*identity.Identity{first, second}
}

// lacks reports what a text lacks of the words about a copied key.
func lacks(text string, ids [2]*identity.Identity, words ...string) (missing []string) {
	return slices.DeleteFunc(append(words, "if "+ids[0].Path()+" was copied", "makes a new key there"),
		func(word string) bool { return strings.Contains(text, word) })
}

// Two machines with copies of one key hear each other's multicast and cannot connect. Both say so, and wait: a stranger
// could announce the same.
func TestTwoMachinesWithOneKeySaySo(t *testing.T) {
	c, ids := new(town), oneKey(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var nodes []*Node
	var waits []<-chan joined
	for _, who := range ids {
		n := c.settle(t, 2, func(o *Options) { o.Identity = who })
		nodes, waits = append(nodes, n), append(waits, joining(ctx, n))
	}
	for _, n := range nodes {
		eventually(t, "a hint", func() bool { return n.counters().Refused["same identity"] > 0 })
	}
	cancel()
	for i, wait := range waits {
		text := (<-wait).err.Error()
		if missing := lacks(text, ids, "shows the identity of this peer", nodes[1-i].Addrs()[0]); len(missing) > 0 {
			t.Errorf("machine %d says %q, without %q", i, text, missing)
		}
	}
	if lines := strings.Count(c.logs.String(), "another machine shows the identity"); lines != 2 {
		t.Errorf("%d lines in the log, want one per machine", lines)
	}
}

// With a roster, the first machine finds its own identity at the address of the second, which finds its own address
// given to another key.
func TestTwoMachinesWithOneKeySaySoWithARoster(t *testing.T) {
	ids := oneKey(t)
	other, err := identity.Ephemeral()
	if err != nil {
		t.Fatal(err)
	}
	var nodes []*Node
	for _, who := range ids {
		n, err := New(Options{RunID: "test", N: 2, Dim: 100, Identity: who, Listen: []string{"/ip4/127.0.0.1/tcp/0"}})
		if err != nil {
			t.Fatal(err)
		}
		defer n.Close()
		nodes = append(nodes, n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for _, n := range nodes {
		roster := []Peer{{ID: ids[0].ID(), Addrs: nodes[0].Addrs()}, {ID: other.ID(), Addrs: nodes[1].Addrs()}}
		if err := n.SetRoster(roster); err != nil {
			t.Fatal(err)
		}
		w := task{n: 2, dim: 100, rounds: 3}.worker(t, 0)
		wg.Go(func() { n.Run(ctx, w) })
	}
	for i, want := range []string{"shows the identity of this peer", "is an address of this machine"} {
		eventually(t, want, func() bool {
			links := nodes[i].Status().Links
			return len(links) > 0 && len(lacks(links[0].Detail, ids, want)) == 0
		})
	}
	cancel()
	wg.Wait()
}
