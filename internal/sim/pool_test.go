package sim

import (
	"fmt"
	"reflect"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"gossiptrainer/algos"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/shape"
	"gossiptrainer/internal/work"
	"gossiptrainer/topology"
)

// There are more workers than gradients that may be ready early, and enough for threads to share a batch. Large
// models share a pool, small ones do not.
func TestCoresChangeNoResult(t *testing.T) {
	const workers = lookahead + 6
	unequal := Options{
		Compute: func(i topology.Rank, k int) time.Duration {
			return time.Duration(1+(7*int(i)+3*k)%11) * time.Millisecond
		},
		Network: shape.Network{Uplink: shape.Link{Latency: 4 * time.Millisecond}},
	}
	limited := Options{Compute: takes(time.Millisecond), Network: shape.Network{Uplink: shape.Link{Rate: 1e6}}}
	for name, opt := range map[string]Options{"equal workers": {Compute: takes(time.Millisecond)},
		"unequal workers": unequal, "limited links": limited} {
		for _, dim := range []int{5, aloneBelow} {
			t.Run(fmt.Sprint(name, " of ", dim), func(t *testing.T) {
				want, wanted := onCores(t, 1, ring(t, workers, dim, algos.CTA), opt)
				got, result := onCores(t, 4, ring(t, workers, dim, algos.CTA), opt)
				if !reflect.DeepEqual(got, want) {
					t.Error("4 cores give other models or records than one")
				}
				if !reflect.DeepEqual(result, wanted) {
					t.Errorf("4 cores give %+v, one gives %+v", result, wanted)
				}
			})
		}
	}
}

// An outcome is what a run leaves behind.
type outcome struct {
	models [][]float32
	steps  []record.Step // in order
}

// onCores runs tasks on some cores.
func onCores(t *testing.T, cores int, tasks []work.Task, opt Options) (o outcome, _ Result) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
	opt.Observe = stepsTo(func(s record.Step) { o.steps = append(o.steps, s) })
	result := run(t, tasks, opt)
	for i := range tasks {
		o.models = append(o.models, tasks[i].Machine.Params())
	}
	return o, result
}

// The first error in the order of events ends the run, and steps of later events are not recorded.
func TestAnErrorOnOneOfManyCores(t *testing.T) {
	var want string
	var steps int
	for _, cores := range []int{1, 4} {
		before := runtime.GOMAXPROCS(cores)
		tasks := ring(t, 3*least, 5, algos.CTA)
		for _, i := range []int{100, 41} {
			tasks[i].Gradient = func([]float32, int, []float32) (float32, error) { return 0, fmt.Errorf("worker %d", i) }
		}
		seen := 0
		_, err := Run(t.Context(), tasks, Options{
			Compute: takes(time.Millisecond), Observe: func(record.Event) { seen++ },
		})
		runtime.GOMAXPROCS(before)
		if err == nil {
			t.Fatal("no error")
		}
		if cores == 1 {
			want, steps = err.Error(), seen
		} else if err.Error() != want || seen != steps {
			t.Errorf("%d cores: %d steps and %q, one core: %d and %q", cores, seen, err, steps, want)
		}
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

// A gradient that panics ends with its own panic, not with an error of the pool's lock.
func TestThePanicOfAGradientIsSeen(t *testing.T) {
	p := newPool(1)
	defer p.stop()
	o := &order{compute: func([]float32, int, []float32) (float32, error) { panic("a gradient") }, at: make([]float32, 1)}
	p.submit(o)
	defer func() {
		if got := recover(); got != "a gradient" {
			t.Errorf("panic %v", got)
		}
	}()
	p.wait(o)
}
