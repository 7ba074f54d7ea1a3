package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/train"
	"gossiptrainer/node/link"
	"gossiptrainer/topology"
)

// An interrupted worker goes on to the next boundary, and ends when its state there is safe. Without
// checkpoints it ends at once.
func TestAnInterruptedWorkerTakesALastCheckpoint(t *testing.T) {
	for name, kept := range map[string]bool{"with checkpoints": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			job := task{n: 1, dim: 10, rounds: 1 << 30}
			c := newCluster(t, job.n, job.dim, nil)
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			w := job.worker(t, 0)
			var (
				mu      sync.Mutex
				asked   int // round of the interrupt
				written []int
			)
			compute := w.Gradient
			w.Gradient = func(g []float32, k int, x []float32) (float32, error) {
				if k == 20 {
					mu.Lock()
					asked = k
					mu.Unlock()
					interrupt()
				}
				return compute(g, k, x)
			}
			if kept {
				w.Checkpoints = &Checkpoints{
					Take: func(int) {}, Every: 8, Keep: 2,
					Write: func(k int) error {
						mu.Lock()
						defer mu.Unlock()
						written = append(written, k)
						return nil
					},
				}
			}
			_, err := c.nodes[0].Run(ctx, w)
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("error %v, want that of the interrupt", err)
			}
			mu.Lock()
			defer mu.Unlock()
			if kept && (len(written) == 0 || slices.Max(written) <= asked) || !kept && len(written) > 0 {
				t.Errorf("checkpoints of rounds %v, interrupted in round %d", written, asked)
			}
		})
	}
}

// The neighbours keep the messages for the oldest of a few checkpoints until the end.
func TestAWorkerMayComeBackToAFewCheckpoints(t *testing.T) {
	k := &keeper{Checkpoints: &Checkpoints{Keep: 2}}
	for _, test := range []struct{ round, oldest int }{{10, 10}, {20, 10}, {30, 20}} {
		if got := k.enter(test.round); got != test.oldest || k.newest != test.round {
			t.Errorf("after round %d: may come back to %d, want %d", test.round, got, test.oldest)
		}
	}
	k.last = taken
	if got := k.enter(40); got != 40 {
		t.Errorf("at the end: may come back to %d", got)
	}
}

// An interruption tells worker 1 of three to end, after its neighbours have sent the messages of some
// rounds and fallen silent.
type interruption struct {
	rounds  int           // rounds whose messages have come
	early   bool          // the start of the worker is not on disk yet
	soon    bool          // the worker is told to end at once, not a minute later
	gone    bool          // a neighbour has crashed
	stopped bool          // by another worker, not by a signal
	lie     bool          // because the model of that worker has diverged
	every   int           // rounds between two checkpoints
	take    time.Duration // to copy the state
	disk    time.Duration // to write a checkpoint
	failed  error         // of the disk
}

// An aftermath names the newest safe round, and how long the user waits.
type aftermath struct {
	written []int
	copies  int
	waited  time.Duration
	stops   []*StoppedError
	log     string
	err     error
}

func (in interruption) run(t *testing.T, change func(w *Worker)) (out aftermath) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := task{n: 3, dim: 4, rounds: 50}.worker(t, 1)
		w.Checkpoints = &Checkpoints{
			Every: in.every, Keep: 2,
			Take: func(int) { out.copies++; time.Sleep(in.take) },
			Write: func(k int) error {
				time.Sleep(in.disk)
				if in.failed == nil {
					out.written = append(out.written, k)
				}
				return in.failed
			},
		}
		if change != nil {
			change(&w)
		}
		s := newScript()
		ctx, interrupt := context.WithCancel(t.Context())
		var log strings.Builder
		d := driverOf(t, w, s)
		d.log = slog.New(slog.NewTextHandler(&log, nil))
		var asked time.Time
		go func() {
			s.up(0, 2)
			if !in.early {
				time.Sleep(in.disk)
			}
			for k := range in.rounds {
				time.Sleep(time.Millisecond)
				for _, from := range []topology.Rank{0, 2} {
					f := gossip.Frame{From: from, To: 1, Round: k, Payload: make([]byte, 16)}
					s.events <- link.Event{Kind: link.FrameIn, Peer: from, Frame: f}
				}
			}
			if in.gone {
				s.down(2)
			}
			if !in.soon {
				time.Sleep(time.Minute)
			}
			asked = time.Now()
			if in.stopped {
				s.events <- link.Event{Kind: link.Stopped, Peer: 0, Err: &StoppedError{
					Rank: 0, Reason: "somebody pressed ctrl-c", Diverged: in.lie}}
				return
			}
			interrupt()
		}()
		out.err = d.run(ctx)
		out.waited = time.Since(asked)
		interrupt()
		time.Sleep(in.disk)
		out.stops, out.log = s.stops, log.String()
	})
	return out
}

// A worker that is told to end saves the state of its last boundary within the time that users wait,
// and tells the others why.
func TestAWorkerThatIsToldToEndLosesNoRound(t *testing.T) {
	tests := map[string]struct {
		interruption
		want   int // the newest checkpoint
		within time.Duration
	}{
		"interrupted, a neighbour has crashed":   {interruption{rounds: 19, gone: true, every: 10}, 19, lastBoundary},
		"interrupted, the neighbours are gone":   {interruption{rounds: 7}, 7, lastBoundary},
		"stopped by another one":                 {interruption{rounds: 19, stopped: true, every: 10}, 19, 0},
		"stopped by another one, the disk slow":  {interruption{rounds: 7, stopped: true, disk: time.Second}, 7, time.Second},
		"interrupted in the first round":         {interruption{}, 0, lastBoundary},
		"stopped in the first round":             {interruption{stopped: true}, 0, lastBoundary},
		"while an older state is being written":  {interruption{rounds: 15, soon: true, every: 10, disk: 0.8e9}, 10, 0.8e9},
		"before it is safe that it has begun":    {interruption{rounds: 7, early: true, soon: true, disk: 0.5e9}, 7, 1e9},
		"interrupted after the last round":       {interruption{rounds: 50}, 50, 0},
		"stopped, the disk slow, after the last": {interruption{rounds: 50, stopped: true}, 50, 0},
		"interrupted, a state that takes long":   {interruption{rounds: 19, take: time.Microsecond}, 19, lastBoundary},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := test.run(t, nil)
			if len(got.written) == 0 || slices.Max(got.written) != test.want || got.waited > test.within {
				t.Errorf("checkpoints of rounds %v after %v, want %d within %v", got.written, got.waited, test.want, test.within)
			}
			if len(got.stops) != 1 {
				t.Fatalf("the others are told %d times", len(got.stops))
			}
			if text := got.stops[0].Error(); strings.Count(text, "node: ") != 1 || strings.Count(text, "worker") != 1 {
				t.Errorf("the others hear %q: node and worker are named more than once", text)
			}
			var stop *StoppedError
			if errors.Is(got.err, context.Canceled) == test.stopped || errors.As(got.err, &stop) != test.stopped {
				t.Errorf("error %v", got.err)
			}
		})
	}
}

// A worker that ends because another one's model has diverged keeps its checkpoints from before. A new one may hold
// what that worker sent.
func TestADivergedModelReplacesNoCheckpoint(t *testing.T) {
	got := interruption{rounds: 19, stopped: true, lie: true, every: 10}.run(t, nil)
	if len(got.written) == 0 || slices.Max(got.written) != 10 {
		t.Errorf("checkpoints of rounds %v, want 10 as the newest", got.written)
	}
	if len(got.stops) != 1 || !got.stops[0].Diverged || got.stops[0].Rank != 0 {
		t.Errorf("the others are told %+v", got.stops)
	}
	var stop *StoppedError
	if !errors.As(got.err, &stop) || !stop.Diverged {
		t.Errorf("error %v", got.err)
	}
}

// A worker whose own model has diverged says so to the others.
func TestADivergedWorkerSaysSo(t *testing.T) {
	for err, want := range map[error]bool{
		fmt.Errorf("round 3: loss is NaN: %w", train.ErrDiverged): true, errors.New("disk full"): false,
	} {
		s := newScript()
		driverOf(t, task{n: 3, dim: 4, rounds: 5}.worker(t, 1), s).passOn(err)
		if len(s.stops) != 1 || s.stops[0].Diverged != want {
			t.Errorf("%v: the others hear %+v", err, s.stops)
		}
	}
}

// An asynchronous worker's copy of the last boundary lacks the exchanges since then. So a stopped
// worker goes on to the next boundary, but not for long.
func TestAWorkerWithoutRoundsGoesOnToTheNextBoundary(t *testing.T) {
	for name, test := range map[string]struct {
		gradient time.Duration
		want     int
		waited   time.Duration
	}{
		"in time":  {300 * time.Millisecond, 6, 290 * time.Millisecond},
		"too late": {time.Second, 5, lastBoundary},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := task{n: 1, dim: 4, rounds: 50}.worker(t, 0)
				w.Asynchronous = true
				w.Gradient = func([]float32, int, []float32) (float32, error) {
					time.Sleep(test.gradient)
					return 0, nil
				}
				var written []int
				var safe time.Time
				w.Checkpoints = &Checkpoints{Take: func(int) {}, Write: func(k int) error {
					written, safe = append(written, k), time.Now()
					return nil
				}}
				stopped := make(chan error)
				d := driverOf(t, w, newScript())
				d.stopped = stopped
				var asked time.Time
				go func() {
					time.Sleep(5*test.gradient + 10*time.Millisecond)
					asked = time.Now()
					stopped <- &StoppedError{Rank: 0, Reason: "somebody pressed ctrl-c"}
				}()
				var stop *StoppedError
				if err := d.run(t.Context()); !errors.As(err, &stop) {
					t.Error(err)
				}
				if waited := safe.Sub(asked); slices.Max(written) != test.want || waited != test.waited {
					t.Errorf("checkpoints of rounds %v after %v, want %d after %v", written, waited, test.want, test.waited)
				}
				time.Sleep(test.gradient)
			})
		})
	}
}

// A script's step may take longer than users wait for others. The worker waits for it, and for its state, but not for
// ever.
func TestAWorkerWithPatienceWaitsForItsGradient(t *testing.T) {
	for name, test := range map[string]struct {
		gradient time.Duration
		want     int
	}{
		"in time":  {3 * time.Second, 2},
		"too late": {time.Minute, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := task{n: 1, dim: 4, rounds: 50}.worker(t, 0)
				w.Gradient = func([]float32, int, []float32) (float32, error) {
					time.Sleep(test.gradient)
					return 0, nil
				}
				var written []int
				w.Checkpoints = &Checkpoints{Take: func(int) {}, Patience: 5 * time.Second, Write: func(k int) error {
					time.Sleep(time.Second / 2) // as a script that gives its state late
					written = append(written, k)
					return nil
				}}
				ctx, interrupt := context.WithCancel(t.Context())
				go func() {
					time.Sleep(test.gradient + 10*time.Millisecond)
					interrupt()
				}()
				if err := driverOf(t, w, newScript()).run(ctx); !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				if len(written) == 0 || slices.Max(written) != test.want {
					t.Errorf("checkpoints of rounds %v, want %d", written, test.want)
				}
				time.Sleep(2 * test.gradient)
			})
		})
	}
}

// A linked machine notes the links that it is told about.
type linked struct {
	gossip.Machine
	downs []topology.Rank
}

func (l *linked) Link(peer topology.Rank, up bool) {
	if !up {
		l.downs = append(l.downs, peer)
	}
	l.Machine.Link(peer, up)
}

// A neighbour that has stopped the run answers no more, so a worker that waits for it goes on with
// another neighbour.
func TestAMachineIsToldThatANeighbourHasStopped(t *testing.T) {
	w := task{n: 3, dim: 4, rounds: 5}.worker(t, 1)
	m := &linked{Machine: w.Machine}
	w.Machine, w.Asynchronous = m, true
	w.Checkpoints = &Checkpoints{Take: func(int) {}, Write: func(int) error { return nil }}
	d := driverOf(t, w, newScript())
	if err := d.handle(link.Event{Kind: link.Stopped, Peer: 2,
		Err: &StoppedError{Rank: 2, Reason: "ctrl-c"}}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(m.downs, []topology.Rank{2}) {
		t.Errorf("links that are down: %v, want that to worker 2", m.downs)
	}
}

// A worker that has met no other one has nothing that others need, and leaves no files for a later
// start.
func TestAWorkerThatMetNoOtherLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := drive(t, ctx, newScript(), func(w *Worker) {
			w.Checkpoints = &Checkpoints{Take: func(int) {}, Write: func(k int) error {
				t.Errorf("a checkpoint of round %d", k)
				return nil
			}}
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

// A worker whose disk is full or too slow says which state is lost, and leaves.
func TestAStateThatCannotBeWrittenIsNamed(t *testing.T) {
	full := errors.New("runs/x/checkpoints/rank-1: no space left on device")
	for name, test := range map[string]struct {
		interruption
		within time.Duration
		says   string
	}{
		"full": {
			interruption{rounds: 19, failed: full}, lastBoundary,
			`err="runs/x/checkpoints/rank-1: no space left on device"`,
		},
		"slow": {interruption{rounds: 19, disk: time.Hour}, lastWrite, `err="not done in 1.1s"`},
	} {
		t.Run(name, func(t *testing.T) {
			got := test.run(t, nil)
			want := `msg="the state of worker 1 at round 19 could not be written" ` + test.says
			if got.waited > test.within || !strings.Contains(got.log, want) || len(got.stops) != 1 {
				t.Errorf("after %v, %d told, log:\n%s", got.waited, len(got.stops), got.log)
			}
		})
	}
}

// Copies take at most one part in fifty of the time, even in short rounds.
func TestCopiesOfALargeStateAreRare(t *testing.T) {
	const take = 100 * time.Millisecond
	got := interruption{rounds: 49, take: take}.run(t, nil)
	if got.copies != 2 {
		t.Errorf("%d copies in 49 rounds of 1 ms, want those of the first two: each takes %v", got.copies, take)
	}
	if want := []int{0, 2}; !slices.Equal(got.written, want) {
		t.Errorf("checkpoints of rounds %v, want %v", got.written, want)
	}
}

// A copy allocates nothing by itself.
func TestCopiesAllocateNothing(t *testing.T) {
	w := task{n: 1, dim: 4, rounds: 1 << 30}.worker(t, 0)
	w.Checkpoints = &Checkpoints{Take: func(int) {}}
	k := newKeeper(&w)
	round := 0
	if n := testing.AllocsPerRun(100, func() { round++; k.boundary(round) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
