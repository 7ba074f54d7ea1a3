package node

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"gossiptrainer/internal/node/identity"
)

// Two processes have one identity. The links of the first one stay up; the second one ends and says
// why, whether it called or was called.
func TestADuplicateGivesUpAndTheRunGoesOn(t *testing.T) {
	for rank := range 2 {
		job := task{n: 2, dim: 100, rounds: 1 << 30}
		c := both(t, nil)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for i, n := range c.nodes {
			w := job.worker(t, i)
			wg.Go(func() { n.Run(ctx, w) })
		}
		eventually(t, "training", func() bool { return c.nodes[1].Counters().Sent.Stream > 10_000 })
		first, other := c.nodes[rank], c.nodes[1-rank]
		duplicate, err := New(Options{
			RunID: first.opts.RunID, N: 2, Dim: 100, Detect: time.Second, Sections: first.opts.Sections,
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
