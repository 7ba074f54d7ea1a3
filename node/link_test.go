package node

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"

	"gossiptrainer/internal/wire"
	"gossiptrainer/node/handshake"
	"gossiptrainer/node/identity"
	"gossiptrainer/node/link"
)

// eventually waits for an event in other goroutines.
func eventually(t testing.TB, what string, happened func() bool) {
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

// both starts two nodes of a run of two. The first has the smaller id, and so opens the stream.
func both(t *testing.T, change func(rank int, o *Options)) *cluster {
	t.Helper()
	ids := make([]*identity.Identity, 2)
	for i := range ids {
		ids[i], _ = identity.Ephemeral()
	}
	slices.SortFunc(ids, func(a, b *identity.Identity) int { return strings.Compare(string(a.Peer()), string(b.Peer())) })
	return newCluster(t, 2, 100, func(rank int, o *Options) {
		o.Identity = ids[rank]
		if change != nil {
			change(rank, o)
		}
	})
}

func TestMismatchIsToldAtBothEnds(t *testing.T) {
	tests := map[string]struct {
		change func(o *Options)
		want   string
		reason handshake.Reason
	}{
		"first section":  {func(o *Options) { o.Sections[0].JSON = []byte(`{"size":3}`) }, "topology.size is ", OtherSection},
		"second section": {func(o *Options) { o.Sections[1].JSON = []byte(`{"batch":64}`) }, "train.batch is ", OtherSection},
		"parameters":     {func(o *Options) { o.Dim = 101 }, "sizes differ", OtherShape},
	}
	for name, test := range tests {
		for odd := range 2 { // either end may be the one that opens the stream
			t.Run(name, func(t *testing.T) {
				c := both(t, func(rank int, o *Options) {
					if rank == odd {
						test.change(o)
					}
				})
				_, errs := c.run(t, t.Context(), task{n: 2, dim: 100, rounds: 3})
				for rank, err := range errs {
					var net *NetworkError
					if !errors.As(err, &net) || !strings.Contains(err.Error(), test.want) {
						t.Errorf("worker %d: error %v, want a network error with %q", rank, err, test.want)
					}
					// On a slow machine the called end asks as well, and is refused once more.
					if n := c.nodes[rank].counters().Refused["refused "+test.reason.String()]; n < 1 || n > 4 {
						t.Errorf("worker %d: %d refusals, want 1", rank, n)
					}
				}
			})
		}
	}
}

func TestRanksThatDiffer(t *testing.T) {
	c := both(t, nil)
	a, b := c.nodes[0], c.nodes[1]
	swapped := []Peer{{ID: b.ID(), Addrs: b.Addrs()}, {ID: a.ID(), Addrs: a.Addrs()}}
	if err := b.SetRoster(swapped); err != nil {
		t.Fatal(err)
	}
	job := task{n: 2, dim: 100, rounds: 3}
	var wg sync.WaitGroup
	for _, n := range c.nodes {
		w := job.worker(t, 0) // each believes to be worker 0
		wg.Go(func() {
			if _, err := n.Run(t.Context(), w); err == nil || !strings.Contains(err.Error(), "rosters differ") {
				t.Errorf("error %v, want that rosters differ", err)
			}
		})
	}
	wg.Wait()
}

func TestStrangerIsRefusedAndBothEndsSayWhy(t *testing.T) {
	c := both(t, nil)
	stranger := both(t, nil).nodes[0]
	honest := c.nodes[1]
	// The stranger has a roster of its own, in which the honest is worker 1.
	if err := stranger.SetRoster([]Peer{{ID: stranger.ID()}, {ID: honest.ID(), Addrs: honest.Addrs()}}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	job := task{n: 2, dim: 100, rounds: 3}
	w := job.worker(t, 1)
	var wg sync.WaitGroup
	wg.Go(func() { honest.Run(ctx, w) })
	_, err := stranger.Run(ctx, job.worker(t, 0))
	if err == nil || !strings.Contains(err.Error(), "is not in the roster") {
		t.Errorf("error %v, want that it is no member", err)
	}
	eventually(t, "the refusal is counted", func() bool { return honest.counters().Refused["refused stranger"] > 0 })
	eventually(t, "the log names the stranger", func() bool { return strings.Contains(c.logs.String(), stranger.ID()) })
	cancel()
	wg.Wait()
}

func TestOwnIDMustBeInTheRoster(t *testing.T) {
	n := both(t, nil).nodes[0]
	err := n.SetRoster([]Peer{{ID: both(t, nil).nodes[0].ID()}, {ID: both(t, nil).nodes[0].ID()}})
	var net *NetworkError
	if !errors.As(err, &net) || !strings.Contains(err.Error(), "not in the roster") {
		t.Errorf("error %v, want that the own id is missing", err)
	}
}

// An adversary is a peer of the roster that may send anything.
func adversary(t *testing.T, ctx context.Context, c *cluster) *handshake.Talk {
	t.Helper()
	me, honest := c.nodes[0], c.nodes[1]
	for {
		s, err := me.host.Open(ctx, honest.host.ID(), link.Protocol)
		if err != nil {
			continue // the honest is not running yet
		}
		talk := handshake.New(s)
		err = talk.Greet(&me.admission, me.me, me.me.CompareShape)
		if err == nil {
			err = talk.Agree()
		}
		if err != nil {
			t.Fatal(err)
		}
		return talk
	}
}

func TestBadFramesAreCountedAndTheLinkIsLost(t *testing.T) {
	job := task{n: 2, dim: 100, rounds: 3}
	frame := func(epoch uint32, change func(b []byte)) []byte {
		b, err := wire.AppendFrame(nil, wire.Header{Kind: wire.Data, Epoch: epoch}, make([]byte, 400))
		if err != nil {
			t.Fatal(err)
		}
		change(b)
		return b
	}
	tests := map[string]struct {
		change func(b []byte)
		cut    int // bytes left out at the end
	}{
		"checksum":  {func(b []byte) { b[100] ^= 1 }, 0},
		"too long":  {func(b []byte) { b[3] = 0x7f }, 0},
		"version":   {func(b []byte) { b[4]++ }, 0},
		"kind":      {func(b []byte) { b[5] = 77 }, 0},
		"epoch":     {func(b []byte) { b[16] ^= 1 }, 0},
		"truncated": {func(b []byte) {}, 7},
	}
	for reason, test := range tests {
		t.Run(reason, func(t *testing.T) {
			t.Parallel() // it waits for links
			c := both(t, nil)
			ctx, cancel := context.WithCancel(t.Context())
			w := job.worker(t, 1)
			var wg sync.WaitGroup
			wg.Go(func() { c.nodes[1].Run(ctx, w) })
			talk := adversary(t, ctx, c)
			b := frame(uint32(c.nodes[0].me.Epoch), test.change)
			if _, err := talk.Stream.Write(b[:len(b)-test.cut]); err != nil {
				t.Fatal(err)
			}
			talk.Stream.CloseWrite()
			io.Copy(io.Discard, talk.In) // until the honest ends the link
			eventually(t, "the frame is counted", func() bool { return c.nodes[1].counters().Refused[reason] == 1 })
			cancel()
			wg.Wait()
		})
	}
}

func TestReturningWithoutItsModelIsRefused(t *testing.T) {
	c := both(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w := task{n: 2, dim: 100, rounds: 9}.worker(t, 1)
	var wg sync.WaitGroup
	wg.Go(func() { c.nodes[1].Run(ctx, w) })
	me := c.nodes[0].me
	me.Round = 7
	var err error
	eventually(t, "an answer", func() bool {
		s, openErr := c.nodes[0].host.Open(ctx, c.nodes[1].host.ID(), link.Protocol)
		if openErr != nil {
			return false
		}
		talk := handshake.New(s)
		if err = talk.Greet(&c.nodes[0].admission, me, me.CompareShape); err == nil {
			err = talk.Agree()
		}
		return true
	})
	var no *RefusedError
	if !errors.As(err, &no) || no.Reason != LostState || !no.Remote {
		t.Errorf("error %v, want a refusal because of lost state", err)
	}
	cancel()
	wg.Wait()
}

// A cutter forwards a listener's connections to target and cuts the first
// ones after some bytes in either direction.
func cutter(t *testing.T, target ma.Multiaddr, after []int64) ma.Multiaddr {
	t.Helper()
	in, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, to, err := manet.DialArgs(target)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			a, err := in.Accept()
			if err != nil {
				return
			}
			b, err := net.Dial("tcp", to)
			if err != nil {
				a.Close()
				continue
			}
			limit := int64(1 << 40)
			if i < len(after) {
				limit = after[i]
			}
			end := sync.OnceFunc(func() { a.Close(); b.Close() })
			context.AfterFunc(ctx, end)
			wg.Go(func() { io.CopyN(a, b, limit); end() })
			wg.Go(func() { io.CopyN(b, a, limit); end() })
		}
	})
	t.Cleanup(func() { in.Close(); cancel(); wg.Wait() })
	at, err := manet.FromNetAddr(in.Addr())
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestCutLinksChangeNothing(t *testing.T) {
	job := task{n: 3, dim: 50_000, rounds: 25}
	c := newCluster(t, job.n, job.dim, nil)
	for _, n := range c.nodes { // each reaches the others through a cutter
		var peers []Peer
		for _, other := range c.nodes {
			at := cutter(t, other.host.Addrs()[0], []int64{700_000, 500_000, 1_200_001})
			peers = append(peers, Peer{ID: other.ID(), Addrs: []string{at.String()}})
			n.host.Peerstore().ClearAddrs(other.host.ID())
		}
		if err := n.SetRoster(peers); err != nil {
			t.Fatal(err)
		}
	}
	finals, errs := c.run(t, t.Context(), job)
	for i, want := range job.lockStep(t) {
		if errs[i] != nil || finals[i].Digest != want {
			t.Errorf("worker %d: digest %.8s, error %v, want %.8s", i, finals[i].Digest, errs[i], want)
		}
	}
	if cuts := strings.Count(c.logs.String(), "link down"); cuts < 3 {
		t.Errorf("%d links were lost, want at least 3: the test has tested nothing", cuts)
	}
}

func TestStopReachesAll(t *testing.T) {
	job := task{n: 4, dim: 100, rounds: 1 << 30}
	c := newCluster(t, job.n, job.dim, nil)
	var errs []error
	var running sync.WaitGroup
	running.Go(func() { _, errs = c.run(t, t.Context(), job) })
	eventually(t, "training", func() bool { return c.nodes[0].counters().Sent.Stream > 10_000 })
	c.nodes[2].Stop("the cat is on the keyboard")
	running.Wait()
	for i, err := range errs {
		var stop *StoppedError
		if !errors.As(err, &stop) || stop.Rank != 2 || !strings.Contains(stop.Reason, "cat") {
			t.Errorf("worker %d: %v, want that worker 2 stopped the run and why", i, err)
		}
	}
}

func TestFailureStopsTheOthers(t *testing.T) {
	job := task{n: 4, dim: 100, rounds: 1 << 30}
	c := newCluster(t, job.n, job.dim, nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	errs := make([]error, job.n)
	var wg sync.WaitGroup
	for i, n := range c.nodes {
		w := job.worker(t, i)
		own := t.Context()
		if i == 1 {
			own = ctx
		}
		wg.Go(func() { _, errs[i] = n.Run(own, w) })
	}
	eventually(t, "training", func() bool { return c.nodes[3].counters().Sent.Stream > 10_000 })
	why := errors.New("somebody pressed ctrl-c")
	cancel(why)
	wg.Wait()
	for i, err := range errs {
		var stop *StoppedError
		switch {
		case i == 1 && !errors.Is(err, why):
			t.Errorf("worker 1: %v, want the cause of its context", err)
		case i != 1 && (!errors.As(err, &stop) || stop.Rank != 1 || !strings.Contains(stop.Reason, "interrupted")):
			t.Errorf("worker %d: %v, want that worker 1 stopped the run", i, err)
		}
	}
}
