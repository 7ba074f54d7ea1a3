package node

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"gossiptrainer/internal/record"
	"gossiptrainer/topology"
)

// own is the vector of a worker in the tests of averages, expected their mean over n workers.
func own(rank, dim int) []float32 {
	x := make([]float32, dim)
	for i := range x {
		x[i] = float32(rank + i)
	}
	return x
}

func expected(n, dim int) []float32 {
	x := own(0, dim)
	for i := range x {
		x[i] += float32(n-1) / 2
	}
	return x
}

// Workers start from the vector of worker 0 and average within a round and after the last one. The
// training is as without, also among workers that met in a roll call.
func TestAveragesWithinARunAndAfterIt(t *testing.T) {
	const n, dim, when = 5, 100, 7
	job := task{n: n, dim: dim, rounds: 20}
	want := job.lockStep(t)
	c := new(town)
	var nodes []*Node
	for range n {
		nodes = append(nodes, c.settle(t, n, nil))
	}
	slices.SortFunc(nodes, func(a, b *Node) int { return strings.Compare(string(a.host.ID()), string(b.host.ID())) })
	average := func(ctx context.Context, rank, call int) error {
		mean, err := nodes[rank].Average(ctx, call, own(rank, dim))
		if err == nil && !slices.Equal(mean, expected(n, dim)) {
			err = errors.New("another mean")
		}
		return err
	}
	live := func(rank int, p *Node) error {
		if _, err := p.Join(t.Context()); err != nil {
			return err
		}
		x := own(rank, dim)
		if err := p.Start(t.Context(), x); err != nil || !slices.Equal(x, own(0, dim)) {
			return errors.Join(err, errors.New("start"))
		}
		w := job.worker(t, rank)
		gradient := w.Gradient
		w.Gradient = func(g []float32, k int, x []float32) (float32, error) {
			if k == when {
				if err := average(t.Context(), rank, 1); err != nil {
					return 0, err
				}
			}
			return gradient(g, k, x)
		}
		final, err := p.Run(t.Context(), w)
		if err == nil && final.Digest != want[rank] {
			err = errors.New("another digest than without averages")
		}
		if err == nil {
			err = average(t.Context(), rank, 2)
		}
		_, failed := p.Finish(t.Context(), final)
		return errors.Join(err, failed)
	}
	var wg sync.WaitGroup
	for rank, p := range nodes {
		wg.Go(func() {
			if err := live(rank, p); err != nil {
				t.Errorf("worker %d: %v", rank, err)
			}
		})
	}
	wg.Wait()
	count := nodes[0].counters()
	if count.Vectors.Sent == 0 || count.Sent.Wire < count.Sent.Stream+count.Vectors.Sent {
		t.Errorf("worker 0 has sent %+v and %d bytes of vectors", count.Sent, count.Vectors.Sent)
	}
}

func TestAnAverageEndsWithTheRun(t *testing.T) {
	job := task{n: 2, dim: 100, rounds: 3}
	for name, test := range map[string]struct {
		end  func(c *cluster, f record.Final) // f is of worker 1
		want func(err error) bool
	}{
		"finished without an average": {
			func(c *cluster, f record.Final) { c.nodes[1].Finish(t.Context(), f) },
			func(err error) bool {
				net, ok := errors.AsType[*NetworkError](err)
				return ok && net.Op == opJoin && strings.Contains(err.Error(), "vector mean/1 of worker 1")
			},
		},
		"stopped": {
			func(c *cluster, _ record.Final) { c.nodes[0].Stop("the script has raised an error") },
			func(err error) bool {
				stop, ok := errors.AsType[*StoppedError](err)
				return ok && stop.Rank == 0
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits for an end
			c := both(t, nil)
			finals, errs := c.run(t, t.Context(), job)
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
			over := make(chan struct{})
			go func() { defer close(over); test.end(c, finals[1]) }()
			if _, err := c.nodes[0].Average(t.Context(), 1, own(0, job.dim)); !test.want(err) {
				t.Errorf("error %v", err)
			}
			c.nodes[0].Finish(t.Context(), finals[0])
			<-over
		})
	}
}

func TestAVectorOfAnotherRunFileIsRefusedAtBothEnds(t *testing.T) {
	c := both(t, func(rank int, o *Options) {
		if rank == 1 {
			o.Sections = slices.Clone(o.Sections)
			o.Sections[0].JSON = []byte(`{"size":3}`)
		}
	})
	c.nodes[0].Publish("start", own(0, 100))
	err := c.nodes[1].Fetch(t.Context(), topology.Rank(0), "start", own(1, 100))
	if net, ok := errors.AsType[*NetworkError](err); !ok || net.Op != opJoin ||
		!strings.Contains(err.Error(), "vector start of worker 0: ") || !strings.Contains(err.Error(), "topology.size is ") {
		t.Errorf("error %v, want the setting that differs", err)
	}
	eventually(t, "the refusal at the other end", func() bool {
		return c.nodes[0].counters().Refused["refused section"] == 1
	})
}

func TestAnAverageNeedsANumber(t *testing.T) {
	if _, err := both(t, nil).nodes[0].Average(t.Context(), 0, own(0, 100)); err == nil {
		t.Error("call 0 is accepted")
	}
}
