package node

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"gossiptrainer/test/strangers/outsider"
)

// strangers starts some machines without the secret, which share what they play to callers.
func strangers(t *testing.T, count int) (all []*outsider.Outsider, played *atomic.Int64) {
	t.Helper()
	played = new(atomic.Int64)
	for range count {
		o, err := outsider.New("/ip4/127.0.0.1/tcp/0", played)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { o.Host.Close() })
		all = append(all, o)
	}
	return all, played
}

// besiege calls nodes on all protocols until ctx ends. done waits for the end.
func besiege(ctx context.Context, o *outsider.Outsider, nodes ...*Node) (done func()) {
	var wg sync.WaitGroup
	for _, n := range nodes {
		who := peer.AddrInfo{ID: n.host.ID(), Addrs: n.host.Addrs()}
		wg.Go(func() {
			for _, on := range outsider.Protocols {
				o.Call(ctx, who, on)
			}
		})
	}
	return wg.Wait
}

// appear lets the peers of a town discover strangers.
func (c *town) appear(all []*outsider.Outsider) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range all {
		for _, found := range c.tell {
			found(o.Info())
		}
		c.there, c.tell = append(c.there, o.Info()), append(c.tell, func(peer.AddrInfo) {})
	}
}

// A run without a roster is found by multicast, and so are strangers. They refuse each peer for every reason at every
// stage, as callers and as called, before the others come and while they train. The run is not changed.
func TestAStrangerEndsNoRunWithoutARoster(t *testing.T) {
	t.Parallel() // peers leave a stranger alone for a second
	c := new(town)
	quick := func(o *Options) { o.Detect = time.Second }
	job := task{n: 2, dim: 100, rounds: 30}
	first := c.settle(t, 2, quick)
	wait := joining(t.Context(), first)
	all, played := strangers(t, 12)
	c.appear(all)
	besiege(t.Context(), all[0], first)()
	eventually(t, "all plays to callers", func() bool { return played.Load() >= int64(len(outsider.Plays())) })
	if first.counters().Refused["unproven refusal"] == 0 {
		t.Error("no claim of a stranger is counted")
	}
	second := c.settle(t, 2, quick)
	select {
	case got := <-wait:
		t.Fatalf("the first peer gave up: %v", got.err)
	default:
	}
	nodes := []*Node{first, second}
	for i, got := range []joined{<-joining(t.Context(), second), <-wait} {
		if got.err != nil {
			t.Fatal(got.err)
		}
		nodes[got.rank] = []*Node{second, first}[i]
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := besiege(ctx, all[1], nodes...)
	digests, errs := make([]string, 2), make([]error, 2)
	var wg sync.WaitGroup
	for rank, n := range nodes {
		w := job.worker(t, rank)
		wg.Go(func() {
			f, err := n.Run(t.Context(), w)
			digests[rank], errs[rank] = f.Digest, err
		})
	}
	wg.Wait()
	cancel()
	done()
	if want := job.lockStep(t); !slices.Equal(digests, want) {
		t.Errorf("digests %.8v, errors %v, want %.8v", digests, errs, want)
	}
}

// The same with a roster, while a worker dies and comes back from its checkpoint.
func TestAStrangerEndsNoRunWithARoster(t *testing.T) {
	f := newFleet(t, task{n: 3, dim: 300, rounds: 60}, 7, death{1, 0, 25, []int{1}})
	all, _ := strangers(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	done := besiege(ctx, all[0], f.nodes...)
	got := f.run()
	cancel()
	done()
	if want := f.job.lockStep(t); !slices.Equal(got, want) {
		t.Errorf("digests %.8v, want %.8v", got, want)
	}
}
