package sim

import (
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"gossiptrainer/algos"
	"gossiptrainer/internal/shape"
	"gossiptrainer/internal/work"
	"gossiptrainer/topology"
)

// Models so large that gradients are shared, and more workers than a crew is
// ahead.
func TestCoresChangeNoResult(t *testing.T) {
	const workers, dim = lookahead + 6, aloneBelow
	unequal := Options{
		Compute: func(i topology.Rank, k int) time.Duration {
			return time.Duration(1+(7*int(i)+3*k)%11) * time.Millisecond
		},
		Network: shape.Network{Uplink: shape.Link{Latency: 4 * time.Millisecond}},
	}
	for name, opt := range map[string]Options{"equal workers": {Compute: takes(time.Millisecond)},
		"unequal workers": unequal} {
		t.Run(name, func(t *testing.T) {
			var want []work.Task
			for _, cores := range []int{1, 4} {
				before := runtime.GOMAXPROCS(cores)
				got := ring(t, workers, dim, algos.CTA)
				run(t, got, opt)
				runtime.GOMAXPROCS(before)
				if want == nil {
					want = got
					continue
				}
				for i := range got {
					if !slices.Equal(got[i].Machine.Params(), want[i].Machine.Params()) {
						t.Fatalf("worker %d: %d cores give another model than one", i, cores)
					}
				}
			}
		})
	}
}

func TestACrewIsAheadByAFewGradients(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	var computed atomic.Int32
	peers := make([]peer, 3*lookahead)
	c := newCrew(aloneBelow)
	for i := range peers {
		peers[i].at = make([]float32, aloneBelow)
		peers[i].Gradient = func(g []float32, _ int, _ []float32) (float32, error) {
			computed.Add(1)
			return float32(i), nil
		}
		c.order(&peers[i])
	}
	for i := range peers {
		c.fetch(&peers[i])
		if peers[i].loss != float32(i) {
			t.Fatalf("gradient %d is that of %v", i, peers[i].loss)
		}
		if ahead := int(computed.Load()) - i - 1; ahead > lookahead {
			t.Fatalf("%d gradients are there that nobody needs yet, want at most %d", ahead, lookahead)
		}
		c.release(&peers[i])
	}
	c.stop()
	if len(c.free) > lookahead+1 {
		t.Errorf("%d buffers for gradients, want at most %d", len(c.free), lookahead+1)
	}
}

func TestSmallGradientsAreNotHandedOver(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	c := newCrew(aloneBelow - 1)
	defer c.stop()
	p := &peer{order: order{at: make([]float32, 1)}}
	p.Gradient = func([]float32, int, []float32) (float32, error) { return 7, nil }
	if c.order(p); len(c.orders) != 0 {
		t.Error("a small gradient is handed over")
	}
	if c.fetch(p); p.loss != 7 {
		t.Errorf("loss %v, want 7", p.loss)
	}
	if got := testing.AllocsPerRun(20, func() { c.release(p); c.order(p); c.fetch(p) }); got != 0 {
		t.Errorf("%v allocations per gradient", got)
	}
}
