package node

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"gossiptrainer/internal/record"
	"gossiptrainer/internal/witness"
	"gossiptrainer/node/handshake"
	"gossiptrainer/node/identity"
	"gossiptrainer/topology"
)

// Join secrets of tests.
const (
	sesame = "2cf24dba5fb0a30e26e83b2ac5b9e29e"
	barley = "9a3c51f07be2d84466c0e1f2a7b8d35c"
)

// A town lets peers discover each other, in place of mDNS.
type town struct {
	mu    sync.Mutex
	there []peer.AddrInfo
	tell  []func(peer.AddrInfo)
	logs  witness.Page
}

// settle starts a peer that discovers all peers in town and is discovered by them.
func (c *town) settle(t *testing.T, n int, change func(o *Options)) *Node {
	t.Helper()
	o := Options{
		RunID: "test", N: n, Dim: 100, Listen: []string{"/ip4/127.0.0.1/tcp/0"}, JoinSecret: sesame,
		Sections: []Section{{Name: "model", JSON: []byte(`{"name":"mlp"}`)}, {Name: "train", JSON: []byte(`{"batch":32}`)}},
		Logger:   slog.New(slog.NewTextHandler(&c.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if change != nil {
		change(&o)
	}
	var p *Node
	o.find = func(found func(peer.AddrInfo)) {
		c.mu.Lock()
		defer c.mu.Unlock()
		me := peer.AddrInfo{ID: p.host.ID(), Addrs: p.host.Addrs()}
		for i, tell := range c.tell {
			tell(me)
			found(c.there[i])
		}
		c.there, c.tell = append(c.there, me), append(c.tell, found)
	}
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Close()
		if t.Failed() && testing.Verbose() {
			t.Log(c.logs.String())
		}
	})
	return p
}

type joined struct {
	rank topology.Rank
	err  error
}

// joining calls Join in another goroutine and returns a channel for the outcome.
func joining(ctx context.Context, n *Node) <-chan joined {
	out := make(chan joined, 1)
	go func() {
		rank, err := n.Join(ctx)
		out <- joined{rank, err}
	}()
	return out
}

func TestRollCallGivesRanksInIDOrderAndTrains(t *testing.T) {
	for _, n := range []int{2, 3, 5} {
		c := new(town)
		job := task{n: n, dim: 100, rounds: 20}
		var nodes []*Node
		for range n {
			nodes = append(nodes, c.settle(t, n, nil))
		}
		slices.SortFunc(nodes, func(a, b *Node) int { return strings.Compare(string(a.host.ID()), string(b.host.ID())) })
		var waits []<-chan joined
		for _, p := range nodes {
			waits = append(waits, joining(t.Context(), p))
		}
		for i, wait := range waits {
			if got := <-wait; got.err != nil || int(got.rank) != i {
				t.Fatalf("%d peers: peer %d: rank %d, error %v", n, i, got.rank, got.err)
			}
		}
		errs := make([]error, n)
		digests := make([]string, n)
		var wg sync.WaitGroup
		for i, p := range nodes {
			w := job.worker(t, i)
			wg.Go(func() {
				f, err := p.Run(t.Context(), w)
				digests[i], errs[i] = f.Digest, err
			})
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		if want := job.lockStep(t); !slices.Equal(digests, want) {
			t.Errorf("%d peers: digests %.8v, want %.8v", n, digests, want)
		}
	}
}

func TestRollCallRefusesAndBothEndsSayWhy(t *testing.T) {
	tests := map[string]struct {
		change        func(o *Options)
		want, section string
		reason        handshake.Reason
	}{
		"another training": {
			func(o *Options) { o.Sections[1].JSON = []byte(`{"batch":64}`) }, "train.batch is ", "train", OtherSection,
		},
		"a section is missing": {func(o *Options) { o.Sections = o.Sections[:1] }, "not set", "train", OtherSection},
		"another size":         {func(o *Options) { o.Dim = 101 }, "sizes differ", "", OtherShape},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := new(town)
			first := joining(t.Context(), c.settle(t, 2, nil))
			other := joining(t.Context(), c.settle(t, 2, test.change))
			for _, wait := range []<-chan joined{first, other} {
				got := <-wait
				var net *NetworkError
				if !errors.As(got.err, &net) || !strings.Contains(got.err.Error(), test.want) {
					t.Errorf("error %v, want a network error with %q", got.err, test.want)
				}
			}
		})
	}
}

func TestStrangersDoNotEndARollCall(t *testing.T) {
	tests := map[string]struct {
		change func(o *Options)
		want   string
		reason handshake.Reason
	}{
		"another secret": {func(o *Options) { o.JoinSecret = barley }, "join secret differs", OtherSecret},
		"another run":    {func(o *Options) { o.RunID = "toast" }, "run differs", OtherRun},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c := new(town)
			peers := []*Node{c.settle(t, 2, nil), c.settle(t, 2, test.change)}
			waits := []<-chan joined{joining(ctx, peers[0]), joining(ctx, peers[1])}
			for _, p := range peers {
				eventually(t, "a refusal", func() bool { return p.counters().Refused["refused "+test.reason.String()] > 0 })
			}
			for i, wait := range waits {
				select {
				case got := <-wait:
					t.Errorf("peer %d gave up: %v", i, got.err)
				default:
				}
			}
			cancel()
			for _, wait := range waits {
				if got := <-wait; got.err == nil || !strings.Contains(got.err.Error(), test.want) {
					t.Errorf("error %v, want it to say %q", got.err, test.want)
				}
			}
		})
	}
}

func TestRollCallIsFull(t *testing.T) {
	c := new(town)
	a, b := c.settle(t, 2, nil), c.settle(t, 2, nil)
	waitA, waitB := joining(t.Context(), a), joining(t.Context(), b)
	for _, wait := range []<-chan joined{waitA, waitB} {
		if got := <-wait; got.err != nil {
			t.Fatal(got.err)
		}
	}
	late := <-joining(t.Context(), c.settle(t, 2, nil))
	var net *NetworkError
	if !errors.As(late.err, &net) || !strings.Contains(late.err.Error(), "run is full (2 of 2)") {
		t.Errorf("error %v, want that the run is full", late.err)
	}
}

func TestRollCallOneTooMany(t *testing.T) {
	c := new(town)
	var waits []<-chan joined
	for range 4 {
		waits = append(waits, joining(t.Context(), c.settle(t, 3, nil)))
	}
	in := 0
	for _, wait := range waits {
		got := <-wait
		if got.err == nil {
			in++
		} else if !strings.Contains(got.err.Error(), "run is full (3 of 3)") {
			t.Errorf("error %v, want that the run is full", got.err)
		}
	}
	if in != 3 {
		t.Errorf("%d peers joined, want 3", in)
	}
}

func TestRollCallTimeoutNamesWhatIsMissing(t *testing.T) {
	t.Parallel() // the two peers have much time to meet
	c := new(town)
	soon := func(o *Options) { o.JoinTimeout = 10 * time.Second }
	a, b := c.settle(t, 3, soon), c.settle(t, 3, soon)
	waitA, waitB := joining(t.Context(), a), joining(t.Context(), b)
	for _, wait := range []<-chan joined{waitA, waitB} {
		got := <-wait
		var net *NetworkError
		if !errors.As(got.err, &net) || !strings.Contains(got.err.Error(), "2 of 3 peers are here") ||
			!errors.Is(got.err, context.DeadlineExceeded) && !strings.Contains(got.err.Error(), "no agreement within 10s") {
			t.Errorf("error %v, want how many peers were there", got.err)
		}
	}
}

func TestRollCallMemberThatRestartsComesBack(t *testing.T) {
	who, err := identity.Ephemeral()
	if err != nil {
		t.Fatal(err)
	}
	c := new(town)
	same := func(o *Options) { o.Identity = who }
	a, b := c.settle(t, 2, nil), c.settle(t, 2, same)
	waitA, waitB := joining(t.Context(), a), joining(t.Context(), b)
	first := <-waitB
	if got := <-waitA; got.err != nil || first.err != nil {
		t.Fatal(got.err, first.err)
	}
	b.Close()
	again := <-joining(t.Context(), c.settle(t, 2, same))
	if again.err != nil || again.rank != first.rank {
		t.Errorf("rank %d, error %v, want rank %d again", again.rank, again.err, first.rank)
	}
}

func TestRollCallTellsHowManyPeersAreHere(t *testing.T) {
	c := new(town)
	var mu sync.Mutex
	var told []int
	a := c.settle(t, 2, func(o *Options) {
		o.Observe = func(e record.Event) {
			if s := e.Status; s != nil && s.Rank == handshake.Unranked {
				mu.Lock()
				defer mu.Unlock()
				told = append(told, s.Here)
			}
		}
	})
	if got := a.Status(); got.Here != 1 || got.Peers != 2 {
		t.Errorf("%d of %d peers are here, want this one of 2", got.Here, got.Peers)
	}
	for _, wait := range []<-chan joined{joining(t.Context(), a), joining(t.Context(), c.settle(t, 2, nil))} {
		if got := <-wait; got.err != nil {
			t.Fatal(got.err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(told) < 2 || told[0] != 1 || told[len(told)-1] != 2 {
		t.Errorf("told of %v peers, want 1 at the beginning and 2 at the end", told)
	}
	if got := a.Status().Here; got != 2 {
		t.Errorf("%d peers are here, want 2", got)
	}
}
