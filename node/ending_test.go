package node

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/internal/record"
	"gossiptrainer/topology"
)

// An umpire is the arbiter of n workers. Each has a seat.
type umpire struct {
	n           int
	hold, ended chan struct{}
	once        sync.Once

	mu    sync.Mutex
	begun map[int]int // by rank
	last  int
}

func newUmpire(n int) *umpire {
	return &umpire{n: n, hold: make(chan struct{}), ended: make(chan struct{}), begun: map[int]int{}}
}

// end ends the run, if it has not ended yet.
func (u *umpire) end() { u.once.Do(func() { close(u.hold) }) }

type seat struct {
	*umpire
	rank int
}

func (s seat) Hold() <-chan struct{}  { return s.hold }
func (s seat) Ended() <-chan struct{} { return s.ended }

func (s seat) Last() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

func (s seat) Held(begun int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun[s.rank] = max(s.begun[s.rank], begun)
	if len(s.begun) == s.n && s.last == 0 {
		s.last = slices.Max(slices.Collect(maps.Values(s.begun)))
		close(s.ended)
	}
}

func TestWorkersEndWithARoundThatAllHave(t *testing.T) {
	tests := map[string]task{
		"one worker alone":          {n: 1, dim: 100},
		"two workers":               {n: 2, dim: 1000},
		"ring of eight":             {n: 8, dim: 3000},
		"all-reduce among five":     {n: 5, dim: 1003, allReduce: true},
		"repairs on a ring of four": {n: 4, dim: 1000, verified: true},
	}
	for name, job := range tests {
		t.Run(name, func(t *testing.T) {
			u, last := newUmpire(job.n), make([]int, job.n) // recorded round, by rank
			job.rounds = 1 << 20
			job.slow = func(rank, k int) {
				if rank == job.n-1 && k == 20 {
					u.end()
				}
			}
			c := newCluster(t, job.n, job.dim, func(rank int, o *Options) {
				o.Observe = func(e record.Event) {
					if e.Step != nil && e.Step.Rank == rank {
						last[rank] = e.Step.Round
					}
				}
			})
			finals, errs := c.runAs(t, t.Context(), job, func(w *Worker) {
				w.Every, w.Arbiter = 1000, seat{u, int(w.Rank)}
			})
			job.rounds = u.last
			for i, want := range job.lockStep(t) {
				if errs[i] != nil {
					t.Fatalf("worker %d: %v", i, errs[i])
				}
				if finals[i].Digest != want || finals[i].Rounds != u.last || last[i] != u.last {
					t.Errorf("worker %d: digest %.8s, %d rounds and the last on record is %d, want %.8s and %d", i, finals[i].Digest,
						finals[i].Rounds, last[i], want, u.last)
				}
				if got := c.nodes[i].Status().Rounds; got != u.last {
					t.Errorf("worker %d: says that there are %d rounds, want %d", i, got, u.last)
				}
			}
			if u.last < 21 || u.last > 21+job.n {
				t.Errorf("%d rounds, want few more than those of who ended it", u.last)
			}
		})
	}
}

// Workers die while the run is ending, and come back from earlier checkpoints.
func TestWorkersThatComeBackEndWithTheOthers(t *testing.T) {
	ring := task{n: 4, dim: 300, rounds: 5000, verified: true}
	tests := map[string]struct {
		job    task
		pairs  bool
		deaths []death
	}{
		"one":        {job: ring, deaths: []death{{0, 0, 40, []int{2}}}},
		"neighbours": {job: ring, deaths: []death{{0, 0, 39, []int{1, 2}}}},
		"all":        {job: ring, deaths: []death{{0, 0, 40, []int{0, 1, 2, 3}}}},
		"on a directed cycle": {job: task{n: 5, dim: 103, rounds: 5000, allReduce: true},
			deaths: []death{{0, 0, 40, []int{2, 3}}}},
		"without rounds": {job: task{n: 4, dim: 50, rounds: 5000}, pairs: true,
			deaths: []death{{0, 0, 40, []int{2, 3}}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // links that come back wait most of the time
			f := newFleet(t, test.job, 7, test.deaths...)
			f.pairs, f.umpire = test.pairs, newUmpire(test.job.n)
			watch := f.job.slow
			f.job.slow = func(rank, k int) {
				if rank == 0 && k == 40 {
					f.umpire.end()
				}
				watch(rank, k)
			}
			got := f.run()
			most := 100
			if test.pairs { // others may be far ahead of worker 0
				most = test.job.rounds / 2
			}
			if f.deaths[0].rank >= 0 || f.umpire.last < 41 || f.umpire.last > most {
				t.Fatalf("%d rounds and the deaths %v, want one death, and little after it", f.umpire.last, f.deaths)
			}
			if test.pairs {
				return // each worker ends with a model of its own
			}
			test.job.rounds = f.umpire.last
			for rank, want := range test.job.lockStep(t) {
				if got[rank] != want {
					t.Errorf("worker %d: digest %.8s, want %.8s", rank, got[rank], want)
				}
			}
		})
	}
}

// An impossible decision of an arbiter ends the worker.
func TestAnEndThatIsPastIsAnError(t *testing.T) {
	u := newUmpire(1)
	u.end()
	_, err := drive(t, t.Context(), newScript(), func(w *Worker) {
		w.Machine.Ready()
		u.last = 9
		close(u.ended)
		w.Arbiter = seat{u, 0}
	})
	if err == nil || !strings.Contains(err.Error(), "worker 1 round 0: end after 9 rounds of 5") {
		t.Errorf("error %v, want what is wrong with the end", err)
	}
}

// An asynchronous worker that died at its own end does not wait for the bye of neighbours that have
// left.
func TestAPairEndsWithoutThoseThatHaveLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := task{n: 3, dim: 4, rounds: 5}.worker(t, 1)
		machine, err := gossip.NewPair(w.Rank, w.Rows.At(0), &algos.ADPSGD{
			X: make([]float32, 4), Alpha: func(int) float32 { return 0.05 }, Weight: 0.5,
			Codec: func(topology.Rank) algos.Codec { return algos.Full{} },
		}, gossip.PairPlan{Workers: 3, Rounds: 5, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, peer := range []topology.Rank{0, 2} {
			machine.Link(peer, false)
		}
		w.Machine, w.Asynchronous = machine, true
		u := newUmpire(1)
		u.end()
		w.Arbiter = seat{u, 1}
		d := driverOf(t, w, newScript())
		d.through = func(topology.Rank) bool { return true }
		if err := d.run(t.Context()); err != nil || !d.core.Done() {
			t.Errorf("done %t, error %v", d.core.Done(), err)
		}
	})
}

// A worker that died at its own end and has come back does not wait for the bye of neighbours that are
// known to have ended well.
func TestOneThatComesBackToItsEndLeavesThoseThatAreThrough(t *testing.T) {
	t.Parallel() // the test waits most of the time
	f := newFleet(t, task{n: 3, dim: 40, rounds: 9}, 4)
	want := f.run()
	for _, n := range f.nodes {
		n.Close()
	}
	f.gone = func(rank topology.Rank) bool { return rank != 1 }
	n, err := f.revive(1)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "journal")
	got, err := f.live(n, 1, dir)
	if err != nil || got != want[1] {
		t.Errorf("digest %.8s and error %v, want %.8s", got, err, want[1])
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its journal: %v, want that it is gone", err)
	}
}

// A worker that holds still gives no place, nor does any worker beyond the end.
func TestNoPlaceBeyondTheEnd(t *testing.T) {
	answer := make(chan invitation, 1)
	u := newUmpire(1)
	w := task{n: 3, dim: 4, rounds: 50}.worker(t, 1)
	w.Lost, w.Arbiter = Reweight, seat{u, 1}
	d := driverOf(t, w, newScript())
	d.holdStill()
	if err := d.host(candidate{rank: 0, answer: answer}); err != nil {
		t.Fatal(err)
	}
	if in := <-answer; in.over || in.state != nil {
		t.Errorf("answer %+v of one that holds still, want to be asked again", in)
	}
	d.hosting.inviting, d.hosting.invited = answer, Place{Round: 1}
	if err := d.conclude(); err != nil {
		t.Fatal(err)
	}
	if in := <-answer; !in.over {
		t.Errorf("answer %+v at the end, want that the run is over", in)
	}
}
