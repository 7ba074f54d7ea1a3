package node

import (
	"cmp"
	"context"
	"encoding/hex"
	"flag"
	"log/slog"
	"os"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/internal/witness"
	"gossiptrainer/internal/work"
	"gossiptrainer/moniqua"
	"gossiptrainer/topology"
)

// Libraries start some goroutines once per process and never end them.
func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "6") // unless the command says more: tests that are parallel wait for links
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"),
		goleak.IgnoreAnyFunction("github.com/libp2p/go-flow-metrics.(*sweeper).run"),
	)
}

// A task is a small run: worker i's objective is ½|x − target_i|².
type task struct {
	n, dim, rounds int
	allReduce      bool
	verified       bool              // Moniqua at 4 bits, first with a theta far too small
	slow           func(rank, k int) // called in each gradient; may be nil
	entropy        entropy.Coder
	kind           topology.Kind // "": a ring
	open           int           // links that a worker keeps open
	clip           *algos.Clip   // the same at all workers; nil: none
	// twist replaces a worker's machine; nil: all are honest.
	twist func(rank int, w *gossip.Worker) gossip.Machine
}

func (c task) rows(t testing.TB) []topology.Sequence {
	t.Helper()
	if c.allReduce || c.n == 1 {
		var all []topology.Sequence
		for _, row := range topology.Cycle(c.n) {
			all = append(all, row)
		}
		return all
	}
	kind := cmp.Or(c.kind, topology.Ring)
	if c.n == 2 {
		kind = topology.Path
	}
	g, err := topology.New(topology.Spec{Kind: kind, N: c.n, Slack: 1})
	if err != nil {
		t.Fatal(err)
	}
	return g.Sequences()
}

func (c task) algorithm(t testing.TB, rank int) gossip.Algorithm {
	t.Helper()
	x := make([]float32, c.dim)
	alpha := func(int) float32 { return 0.05 }
	if c.allReduce {
		return &algos.AllReduce{X: x, Alpha: alpha, Rank: rank, Workers: c.n}
	}
	a := &algos.DPSGD{X: x, Alpha: alpha, Codec: c.codec(t, rank)}
	if c.clip != nil {
		a.Clip = &algos.Clip{Liars: c.clip.Liars}
	}
	return a
}

func (c task) machine(t testing.TB, rank int, row topology.Sequence) gossip.Machine {
	t.Helper()
	m, err := gossip.New(topology.Rank(rank), row, c.algorithm(t, rank), c.rounds)
	if err != nil {
		t.Fatal(err)
	}
	if c.twist != nil {
		return c.twist(rank, m)
	}
	return m
}

func (c task) codec(t testing.TB, rank int) algos.Codec {
	t.Helper()
	if !c.verified {
		return algos.Full{}
	}
	control, err := moniqua.Adaptive(moniqua.ControlPlan{
		Diameter: c.n / 2, Every: 1, Start: 1e-3, Unit: func(int) float64 { return 1 },
	})
	if err != nil {
		t.Fatal(err)
	}
	codec := &moniqua.Codec{
		Levels: 16, Theta: control.Theta, Control: control, Verify: true, Rank: topology.Rank(rank),
	}
	if ahead := c.rows(t)[rank].Ahead(); ahead > 1 {
		codec.Behind(ahead)
	}
	return codec
}

func (c task) gradient(rank int) func(g []float32, k int, x []float32) (float32, error) {
	return func(g []float32, k int, x []float32) (float32, error) {
		if c.slow != nil {
			c.slow(rank, k)
		}
		var loss float32
		for i := range g {
			g[i] = x[i] - float32((rank+1)*(i%17+1))
			loss += float32(g[i]*g[i]) / 2
		}
		return loss, nil
	}
}

func (c task) worker(t testing.TB, rank int) Worker {
	t.Helper()
	row := c.rows(t)[rank]
	return Worker{Task: work.Task{
		Rank: topology.Rank(rank), Rows: row, Machine: c.machine(t, rank, row), Gradient: c.gradient(rank),
		Rounds: c.rounds, MaxPayload: 4*c.dim + 64, Coding: work.Coding{Entropy: c.entropy},
		Recording: work.Recording{Every: 1},
	}, OpenLinks: c.open}
}

// lockStep runs the same workers without a network and returns the digests.
func (c task) lockStep(t testing.TB) []string {
	t.Helper()
	rows := c.rows(t)
	machines := make([]gossip.Machine, c.n)
	for i := range machines {
		machines[i] = c.machine(t, i, rows[i])
	}
	for busy := true; busy; {
		busy = false
		for i, m := range machines {
			r := m.Ready()
			for _, f := range r.Send {
				f.Payload = slices.Clone(f.Payload)
				if err := machines[f.To].Receive(f); err != nil {
					t.Fatal(err)
				}
			}
			if r.Compute {
				g := make([]float32, c.dim)
				c.gradient(i)(g, r.Round, r.At)
				if err := m.Gradient(g, 0, 0); err != nil {
					t.Fatal(err)
				}
			}
			busy = busy || r.Compute || len(r.Send) > 0
		}
	}
	digests := make([]string, c.n)
	for i, m := range machines {
		d := record.Digest(m.Params())
		digests[i] = hex.EncodeToString(d[:])
	}
	return digests
}

// A cluster is some nodes of one process that know each other's addresses.
type cluster struct {
	nodes []*Node
	logs  *witness.Page
}

// newCluster starts nodes on loopback; change may alter the options of each.
func newCluster(t testing.TB, n, dim int, change func(rank int, o *Options)) *cluster {
	t.Helper()
	c := &cluster{logs: new(witness.Page)}
	var peers []Peer
	for i := range n {
		o := Options{
			RunID: "test", N: n, Dim: dim, Listen: []string{"/ip4/127.0.0.1/tcp/0"},
			Sections: []Section{{Name: "topology", JSON: []byte(`{"size":2}`)}, {Name: "train", JSON: []byte(`{"batch":32}`)}},
			Logger:   slog.New(slog.NewTextHandler(c.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
		}
		if change != nil {
			change(i, &o)
		}
		p, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Close() })
		c.nodes = append(c.nodes, p)
		peers = append(peers, Peer{ID: p.ID(), Addrs: p.Addrs()})
	}
	t.Cleanup(func() {
		if t.Failed() && os.Getenv("NODE_LOG") != "" {
			t.Log(c.logs.String())
		}
	})
	for _, p := range c.nodes {
		if err := p.SetRoster(peers); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// run joins and runs all nodes and returns their results and errors.
func (c *cluster) run(t testing.TB, ctx context.Context, job task) ([]record.Final, []error) {
	t.Helper()
	return c.runAs(t, ctx, job, nil)
}

// runAs is run with workers changed by prepare.
func (c *cluster) runAs(
	t testing.TB, ctx context.Context, job task, prepare func(w *Worker),
) ([]record.Final, []error) {
	t.Helper()
	finals, errs := make([]record.Final, len(c.nodes)), make([]error, len(c.nodes))
	var wg sync.WaitGroup
	for i, n := range c.nodes {
		w := job.worker(t, i)
		if prepare != nil {
			prepare(&w)
		}
		wg.Go(func() {
			if _, err := n.Join(ctx); err != nil {
				errs[i] = err
				return
			}
			finals[i], errs[i] = n.Run(ctx, w)
		})
	}
	wg.Wait()
	return finals, errs
}

func TestRunEqualsLockStep(t *testing.T) {
	tests := map[string]task{
		"one worker alone":          {n: 1, dim: 100, rounds: 20},
		"two workers":               {n: 2, dim: 1000, rounds: 50},
		"ring of three":             {n: 3, dim: 1000, rounds: 50},
		"ring of eight":             {n: 8, dim: 3000, rounds: 30},
		"all-reduce among two":      {n: 2, dim: 1000, rounds: 30, allReduce: true},
		"all-reduce among five":     {n: 5, dim: 1003, rounds: 30, allReduce: true},
		"repairs on a ring of four": {n: 4, dim: 1000, rounds: 30, verified: true},
		"repairs until the end":     {n: 3, dim: 1000, rounds: 3, verified: true},
		"frames of several chunks":  {n: 3, dim: 100_000, rounds: 5},
	}
	for name, job := range tests {
		t.Run(name, func(t *testing.T) {
			finals, errs := newCluster(t, job.n, job.dim, nil).run(t, t.Context(), job)
			for i, want := range job.lockStep(t) {
				if errs[i] != nil {
					t.Fatalf("worker %d: %v", i, errs[i])
				}
				if finals[i].Digest != want {
					t.Errorf("worker %d: digest %.8s, want %.8s", i, finals[i].Digest, want)
				}
				if finals[i].Rounds != job.rounds {
					t.Errorf("worker %d: %d rounds, want %d", i, finals[i].Rounds, job.rounds)
				}
			}
		})
	}
}
