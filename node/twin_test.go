package node

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"
)

// Two processes with one identity: the first one's links do not flap, the
// second one ends and says why.
func TestATwinGivesUpAndTheRunGoesOn(t *testing.T) {
	job := task{n: 2, dim: 100, rounds: 1 << 30}
	c := both(t, func(_ int, o *Options) { o.Detect = time.Second })
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for i, n := range c.nodes {
		w := job.worker(t, i)
		wg.Go(func() { n.Run(ctx, w) })
	}
	eventually(t, "training", func() bool { return c.nodes[1].Counters().Sent.Stream > 10_000 })
	twin, err := New(Options{
		RunID: c.nodes[0].opts.RunID, N: 2, Dim: 100, Detect: time.Second, Sections: c.nodes[0].opts.Sections,
		Identity: c.nodes[0].opts.Identity, Listen: []string{"/ip4/127.0.0.1/tcp/0"}, Roster: c.nodes[0].opts.Roster,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer twin.Close()
	if err := twin.SetRoster([]Peer{{ID: twin.ID()}, {ID: c.nodes[1].ID(), Addrs: c.nodes[1].Addrs()}}); err != nil {
		t.Fatal(err)
	}
	_, err = twin.Run(t.Context(), job.worker(t, 0))
	var net *NetworkError
	if !errors.As(err, &net) || !strings.Contains(err.Error(), "another process with the same identity") {
		t.Errorf("error %v, want that there are two", err)
	}
	if strings.Contains(c.logs.String(), "link down") {
		t.Error("the link of the first has flapped")
	}
	cancel()
	wg.Wait()
}

func TestATwinGivesUpItsRollCall(t *testing.T) {
	who, err := EphemeralIdentity()
	if err != nil {
		t.Fatal(err)
	}
	c := new(town)
	ctx, cancel := context.WithCancel(t.Context())
	fast := func(o *Options) { o.Detect = time.Second }
	same := func(o *Options) { fast(o); o.Identity = who }
	first := c.settle(t, 3, fast)
	waits := []<-chan joined{join(ctx, first), join(ctx, c.settle(t, 3, same))}
	eventually(t, "a call", func() bool {
		first.mu.Lock()
		defer first.mu.Unlock()
		return first.roll != nil && first.roll.current(who.id) != nil
	})
	twin := <-join(t.Context(), c.settle(t, 3, same))
	var net *NetworkError
	if !errors.As(twin.err, &net) || !strings.Contains(twin.err.Error(), "another process with the same identity") {
		t.Errorf("error %v, want that there are two", twin.err)
	}
	cancel()
	for _, wait := range waits {
		<-wait
	}
}

func TestATwinIsToldFromOneThatComesBack(t *testing.T) {
	var timer twinTimer
	no := twinned("worker 1")
	no.Remote = true
	if timer.sure(no, time.Hour) {
		t.Error("sure at once")
	}
	timer.since = timer.since.Add(-3 * time.Hour)
	if !timer.sure(no, time.Hour) {
		t.Error("not sure after three hours")
	}
	if timer.sure(errors.New("no route"), time.Hour) || !timer.since.IsZero() {
		t.Error("another error means nothing")
	}
}
