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

// The models are so large that the pool shares gradients, and there are more workers than gradients that may be ready
// early.
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

func TestAPoolIsAheadByAFewGradients(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	var computed atomic.Int32
	orders := make([]order, 3*lookahead)
	p := newPool(aloneBelow)
	for i := range orders {
		orders[i].at = make([]float32, aloneBelow)
		orders[i].compute = func(g []float32, _ int, _ []float32) (float32, error) {
			computed.Add(1)
			return float32(i), nil
		}
		p.submit(&orders[i])
	}
	for i := range orders {
		p.wait(&orders[i])
		if orders[i].loss != float32(i) {
			t.Fatalf("gradient %d is that of %v", i, orders[i].loss)
		}
		if ahead := int(computed.Load()) - i - 1; ahead > lookahead {
			t.Fatalf("%d gradients are ready early, want at most %d", ahead, lookahead)
		}
		p.release(&orders[i])
	}
	p.stop()
	if len(p.free) > lookahead+1 {
		t.Errorf("%d buffers for gradients, want at most %d", len(p.free), lookahead+1)
	}
}

func TestSmallGradientsAreNotHandedOver(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	p := newPool(aloneBelow - 1)
	defer p.stop()
	o := &order{
		at:      make([]float32, 1),
		compute: func([]float32, int, []float32) (float32, error) { return 7, nil },
	}
	if p.submit(o); len(p.orders) != 0 {
		t.Error("a small gradient is handed over")
	}
	if p.wait(o); o.loss != 7 {
		t.Errorf("loss %v, want 7", o.loss)
	}
	if got := testing.AllocsPerRun(20, func() { p.release(o); p.submit(o); p.wait(o) }); got != 0 {
		t.Errorf("%v allocations per gradient", got)
	}
}
