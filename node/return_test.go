package node

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/journal"
	"gossiptrainer/internal/record"
	"gossiptrainer/node/identity"
	"gossiptrainer/topology"
)

// A fleet is a cluster whose nodes die and come back as under a supervisor: with their keys, at other
// ports, from their files.
type fleet struct {
	*cluster
	t      *testing.T
	job    task
	every  int // rounds between two checkpoints
	deaths []death
	died   chan struct{} // closed when all deaths have happened
	pairs  bool          // AD-PSGD
	umpire *umpire
	gone   func(topology.Rank) bool // whether a worker has ended well; may be nil
	dir    string                   // folder of the journals

	mu    sync.Mutex
	ids   []*identity.Identity
	known []Peer
	kill  []func()
	dead  []<-chan struct{} // by worker; closed when its process ends
	dying []bool            // by worker; its process is about to end
	disks []disk
	lives []int
}

// A death ends some workers at once, when a given worker takes its gradient of a given round in one of
// its lives.
type death struct {
	rank, life, round int
	killed            []int
}

// A disk holds a worker's checkpoints.
type disk struct {
	round int
	saved state.Snapshot
}

func newFleet(t *testing.T, job task, every int, deaths ...death) *fleet {
	f := &fleet{
		t: t, job: job, every: every, deaths: deaths, died: make(chan struct{}), dir: t.TempDir(),
		kill: make([]func(), job.n), dead: make([]<-chan struct{}, job.n), dying: make([]bool, job.n),
		disks: make([]disk, job.n), lives: make([]int, job.n),
	}
	f.job.slow = f.watch
	for range job.n {
		who, err := identity.Ephemeral()
		if err != nil {
			t.Fatal(err)
		}
		f.ids = append(f.ids, who)
	}
	f.cluster = newCluster(t, job.n, job.dim, func(rank int, o *Options) { o.Identity = f.ids[rank] })
	for _, n := range f.nodes {
		f.known = append(f.known, Peer{ID: n.ID(), Addrs: n.Addrs()})
	}
	return f
}

// watch kills the workers that are to die now. A dying worker takes no further gradient: on a busy
// machine it would go on for some rounds before its end.
func (f *fleet) watch(rank, k int) {
	f.mu.Lock()
	for i, d := range f.deaths {
		if d.rank == rank && d.life == f.lives[rank] && d.round == k {
			f.deaths[i].rank = -1
			for _, who := range d.killed {
				f.dying[who] = true
				go f.kill[who]()
			}
			if !slices.ContainsFunc(f.deaths, func(d death) bool { return d.rank >= 0 }) {
				close(f.died)
			}
		}
	}
	dying, dead := f.dying[rank], f.dead[rank]
	f.mu.Unlock()
	if dying {
		<-dead
	}
}

// run runs all lives of all workers and returns the digests.
func (f *fleet) run() []string {
	f.t.Helper()
	digests := make([]string, f.job.n)
	var wg sync.WaitGroup
	for rank, n := range f.nodes {
		wg.Go(func() {
			for {
				digest, err := f.live(n, rank, filepath.Join(f.dir, strconv.Itoa(rank)))
				if err == nil {
					digests[rank] = digest
					return
				}
				if !errors.Is(err, context.Canceled) {
					f.t.Errorf("worker %d: %v", rank, err)
					return
				}
				if n, err = f.revive(rank); err != nil {
					f.t.Errorf("worker %d: %v", rank, err)
					return
				}
			}
		})
	}
	wg.Wait()
	return digests
}

// revive starts a new node of a dead worker.
func (f *fleet) revive(rank int) (*Node, error) {
	n, err := New(Options{
		RunID: "test", N: f.job.n, Dim: f.job.dim, Listen: []string{"/ip4/127.0.0.1/tcp/0"}, Identity: f.ids[rank],
		Sections: f.nodes[rank].opts.Sections, Logger: f.nodes[rank].opts.Logger,
	})
	if err != nil {
		return nil, err
	}
	f.t.Cleanup(func() { n.Close() })
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lives[rank]++
	f.known[rank].Addrs = n.Addrs()
	return n, n.SetRoster(f.known)
}

// live runs one life of a worker to its end. A worker that has ended well keeps its node, as its
// process stays while others are at work.
func (f *fleet) live(n *Node, rank int, dir string) (digest string, err error) {
	ctx, cancel := context.WithTimeout(f.t.Context(), 5*time.Minute)
	defer cancel()
	w := f.worker(rank)
	if !f.pairs {
		log, err := journal.Open(dir, gossip.SlotsOf(w.Machine), w.durable())
		if err != nil {
			return "", err
		}
		defer log.Close()
		w.Checkpoints.Journal = log
	}
	f.mu.Lock()
	f.dead[rank] = ctx.Done()
	f.dying[rank], f.kill[rank] = false, func() {
		n.host.Close() // first, so that the worker cannot tell the others
		cancel()
	}
	f.mu.Unlock()
	final, err := n.Run(ctx, w)
	f.mu.Lock()
	died := f.dying[rank]
	f.kill[rank] = func() {}
	f.mu.Unlock()
	switch {
	case died:
		return "", errors.Join(context.Canceled, n.Close())
	case err != nil:
		return "", errors.Join(err, n.Close())
	}
	n.Say(record.Status{State: record.Testing})
	return final.Digest, nil
}

// worker returns a worker at its newest checkpoint.
func (f *fleet) worker(rank int) Worker {
	w := f.job.worker(f.t, rank)
	w.Through = f.gone
	if f.umpire != nil {
		w.Arbiter = seat{f.umpire, rank}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	d := &f.disks[rank]
	var err error
	switch {
	case f.pairs:
		w.Machine, err = f.pairWorker(w, d)
		w.Asynchronous, w.MaxPayload = true, w.MaxPayload+gossip.CensusBytes(f.job.n)
	case d.round > 0:
		w.Machine, err = gossip.Resume(w.Rank, w.Rows, f.job.algorithm(f.t, rank),
			gossip.Schedule{Rounds: f.job.rounds, Every: 1}, &d.saved)
	}
	if err != nil {
		f.t.Error(err)
	}
	var copied state.Snapshot
	w.Checkpoints = &Checkpoints{
		Round: d.round, Every: f.every,
		Take: func(int) {
			copied.Begin()
			copied.Save("machine", w.Machine)
		},
		Write: func(k int) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			d.round = k
			if k > 0 { // the copy may change while round 0 is noted
				copied.CopyTo(&d.saved)
			}
			return nil
		},
	}
	return w
}

func (f *fleet) pairWorker(w Worker, d *disk) (gossip.Machine, error) {
	alg := &algos.ADPSGD{
		X: make([]float32, f.job.dim), Alpha: func(int) float32 { return 0.05 }, Weight: 0.5,
		Codec: func(topology.Rank) algos.Codec { return algos.Full{} },
	}
	plan := gossip.PairPlan{Workers: f.job.n, Rounds: f.job.rounds, Seed: 1}
	if d.round > 0 {
		return gossip.ResumePair(w.Rank, w.Rows.At(0), alg, plan, &d.saved)
	}
	return gossip.NewPair(w.Rank, w.Rows.At(0), alg, plan)
}

// Asynchronous workers go on without a dead one, and with it when it is back: all end between the
// optima of their objectives.
func TestPairwiseWorkersComeBack(t *testing.T) {
	f := newFleet(t, task{n: 4, dim: 50, rounds: 200}, 5, death{1, 0, 30, []int{1}}, death{2, 0, 60, []int{2, 3}})
	f.pairs = true
	f.job.slow = func(rank, k int) {
		f.watch(rank, k)
		if k < 100 {
			return
		}
		f.mu.Lock()
		dead := f.dead[rank]
		f.mu.Unlock()
		select { // fast workers would take the steps of those that are to die
		case <-f.died:
		case <-dead:
		}
	}
	f.run()
	for _, d := range f.deaths {
		if d.rank >= 0 {
			t.Errorf("%+v has not happened", d)
		}
	}
	for rank := range f.disks {
		var m gossip.Machine
		var err error
		if m, err = f.pairWorker(f.job.worker(t, rank), &f.disks[rank]); err != nil {
			t.Fatal(err)
		}
		for i, x := range m.Params() {
			if unit := float32(i%17 + 1); x < 0.7*unit || x > 4*unit {
				t.Fatalf("worker %d: coordinate %d is %v, want it between the optima of the workers, %v to %v", rank, i, x, unit,
					4*unit)
			}
		}
	}
}

func TestWorkersThatComeBackDoNotChangeTheRun(t *testing.T) {
	ring := task{n: 4, dim: 300, rounds: 60}
	repairs := task{n: 4, dim: 300, rounds: 60, verified: true}
	tests := map[string]struct {
		job    task
		every  int
		deaths []death
	}{
		"nobody":                           {ring, 7, nil},
		"one":                              {ring, 7, []death{{1, 0, 25, []int{1}}}},
		"one between two repairs":          {repairs, 7, []death{{1, 0, 25, []int{1}}}},
		"one, before its first checkpoint": {repairs, 40, []death{{2, 0, 9, []int{2}}}},
		"one, again and again": {repairs, 11, []death{
			{0, 0, 20, []int{0}}, {0, 1, 30, []int{0}}, {0, 2, 40, []int{0}}, {0, 3, 50, []int{0}},
		}},
		"one and its helper": {repairs, 9, []death{{0, 0, 26, []int{0}}, {0, 1, 28, []int{1}}}},
		"neighbours":         {repairs, 9, []death{{2, 0, 35, []int{1, 2}}}},
		"all":                {repairs, 9, []death{{3, 0, 35, []int{0, 1, 2, 3}}}},
		"all, twice":         {repairs, 9, []death{{3, 0, 35, []int{0, 1, 2, 3}}, {0, 1, 45, []int{0, 1, 2, 3}}}},
		"in the last round":  {repairs, 9, []death{{3, 0, 59, []int{3, 1}}}},
		"links that follow matchings": {
			task{n: 8, dim: 300, rounds: 30, kind: topology.RandomMatching, open: 3}, 7,
			[]death{{1, 0, 12, []int{1}}, {4, 0, 20, []int{4, 5}}},
		},
		"links that follow shifts": {
			task{n: 6, dim: 300, rounds: 20, kind: topology.RandomShift, open: 3, verified: true}, 7,
			[]death{{1, 0, 9, []int{1}}, {2, 0, 18, []int{2}}},
		},
		"on a directed cycle": {task{n: 5, dim: 103, rounds: 40, allReduce: true}, 7,
			[]death{{1, 0, 18, []int{1}}, {4, 0, 30, []int{2, 3}}}},
		"in turn": {repairs, 13, []death{
			{0, 0, 15, []int{0}}, {1, 0, 20, []int{1}}, {2, 0, 25, []int{2}}, {3, 0, 30, []int{3}}, {2, 1, 45, []int{0, 2}},
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // links that come back wait most of the time
			f := newFleet(t, test.job, test.every, test.deaths...)
			got := f.run()
			for rank, want := range test.job.lockStep(t) {
				if got[rank] != want {
					t.Errorf("worker %d: digest %.8s, want %.8s", rank, got[rank], want)
				}
			}
			for _, d := range f.deaths {
				if d.rank >= 0 {
					t.Errorf("%+v has not happened", d)
				}
			}
			if left, err := os.ReadDir(f.dir); err != nil || len(left) > 0 {
				t.Errorf("at the end there are still journals: %v, %v", left, err)
			}
		})
	}
}
