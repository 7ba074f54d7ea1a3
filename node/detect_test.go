package node

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"

	"gossiptrainer/node/socket"
)

// A cable connects two hosts until it is pulled: then nothing passes and neither end is told. It has a
// rate, and an unlimited buffer in front.
type cable struct {
	pulled chan struct{}
	rate   int // bytes per second; 0: no limit
}

// lay returns an address that reaches target over the cable.
func (c *cable) lay(t *testing.T, target ma.Multiaddr) ma.Multiaddr {
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
		for {
			a, err := in.Accept()
			if err != nil {
				return
			}
			b, err := net.Dial("tcp", to)
			if err != nil {
				a.Close()
				continue
			}
			context.AfterFunc(ctx, func() { a.Close(); b.Close() })
			wg.Go(func() { c.carry(ctx, &wg, a, b) })
			wg.Go(func() { c.carry(ctx, &wg, b, a) })
		}
	})
	t.Cleanup(func() { in.Close(); cancel(); wg.Wait() })
	at, err := manet.FromNetAddr(in.Addr())
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// carry forwards the bytes from one end.
func (c *cable) carry(ctx context.Context, wg *sync.WaitGroup, from io.Reader, to net.Conn) {
	parcels := make(chan []byte, 1<<14)
	wg.Go(func() {
		defer close(parcels)
		for {
			b := make([]byte, 1<<10)
			n, err := from.Read(b)
			if err != nil {
				return
			}
			parcels <- b[:n]
		}
	})
	var pause time.Duration
	for b := range parcels {
		if c.rate > 0 {
			pause = time.Duration(len(b)) * time.Second / time.Duration(c.rate)
		}
		select {
		case <-c.pulled:
			continue
		default:
		}
		socket.Sleep(ctx, pause)
		to.Write(b)
	}
	select {
	case <-c.pulled: // an end cannot tell that it has closed
	default:
		to.Close()
	}
}

// connect makes the nodes of c see each other over the cable.
func (c *cable) connect(t *testing.T, nodes []*Node) {
	t.Helper()
	for _, n := range nodes {
		var peers []Peer
		for _, other := range nodes {
			peers = append(peers, Peer{ID: other.ID(), Addrs: []string{c.lay(t, other.host.Addrs()[0]).String()}})
			n.host.Peerstore().ClearAddrs(other.host.ID())
		}
		if err := n.SetRoster(peers); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAPulledCableIsNoticed(t *testing.T) {
	t.Parallel() // it waits for a silence
	c := both(t, func(_ int, o *Options) { o.Detect = time.Second })
	wire := &cable{pulled: make(chan struct{})}
	wire.connect(t, c.nodes)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for i, n := range c.nodes {
		w := task{n: 2, dim: 100, rounds: 1 << 30}.worker(t, i)
		wg.Go(func() { n.Run(ctx, w) })
	}
	eventually(t, "training", func() bool { return c.nodes[0].counters().Sent.Stream > 10_000 })
	for _, n := range c.nodes { // identify has told each end the other's own address, which bypasses the cable
		listening := n.host.Network().(interface{ ListenClose(...ma.Multiaddr) })
		listening.ListenClose(n.host.Network().ListenAddresses()...)
	}
	close(wire.pulled)
	eventually(t, "both ends to notice", func() bool {
		logs := c.logs.String()
		return linkIsDown(logs, 0) && linkIsDown(logs, 1) && strings.Contains(logs, "silent for 1s")
	})
	cancel()
	wg.Wait()
}

// linkIsDown reports whether a worker's link was down in its last logged state.
func linkIsDown(logs string, rank int) (down bool) {
	for line := range strings.Lines(logs) {
		if strings.Contains(line, fmt.Sprintf(" rank=%d ", rank)) && strings.Contains(line, `msg="link `) {
			down = strings.Contains(line, `msg="link down"`)
		}
	}
	return down
}

// stalls measures the longest time for which this process stands still, until longest is called.
func stalls() (longest func() time.Duration) {
	done, most := make(chan struct{}), make(chan time.Duration)
	go func() {
		look := time.NewTicker(20 * time.Millisecond)
		defer look.Stop()
		var worst time.Duration
		for last := time.Now(); ; {
			select {
			case <-look.C:
				worst, last = max(worst, time.Since(last)), time.Now()
			case <-done:
				most <- max(worst, time.Since(last))
				return
			}
		}
	}()
	return func() time.Duration { close(done); return <-most }
}

func TestASlowNeighbourIsNotDead(t *testing.T) {
	t.Parallel() // the test waits most of the time
	const detect = 2 * time.Second
	job := task{n: 2, dim: 10_000, rounds: 2, slow: func(rank, _ int) {
		if rank == 1 {
			socket.Sleep(t.Context(), 2*detect)
		}
	}}
	for range 5 {
		c := newCluster(t, job.n, job.dim, func(_ int, o *Options) { o.Detect = detect })
		wire := &cable{pulled: make(chan struct{}), rate: 100_000 / 8} // a model takes 3.2 s
		wire.connect(t, c.nodes)
		longest := stalls()
		finals, errs := c.run(t, t.Context(), job)
		stood := longest()
		for i, want := range job.lockStep(t) {
			if errs[i] != nil || finals[i].Digest != want {
				t.Errorf("worker %d: digest %.8s, error %v, want %.8s", i, finals[i].Digest, errs[i], want)
			}
		}
		if !strings.Contains(c.logs.String(), "link down") {
			return
		}
		if stood < detect/4 {
			t.Fatalf("a link was given up, and this machine stood still for %v at most:\n%s", stood, c.logs.String())
		}
		t.Logf("a link was given up, but this machine stood still for %v: once more", stood)
	}
	t.Error("a link was given up, each time")
}
