package node

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
)

// A worker that is interrupted goes on to the next boundary, and ends when its state
// there is safe. Without checkpoints it ends at once.
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

// The neighbours keep what the oldest of a few checkpoints needs, until the end.
func TestAWorkerMayComeBackToAFewCheckpoints(t *testing.T) {
	k := &keeper{Checkpoints: &Checkpoints{Keep: 2}}
	for _, test := range []struct{ round, oldest int }{{10, 10}, {20, 10}, {30, 20}} {
		if got := k.enter(test.round); got != test.oldest || k.newest != test.round {
			t.Errorf("after round %d: may come back to %d, want %d", test.round, got, test.oldest)
		}
	}
	k.last = true
	if got := k.enter(40); got != 40 {
		t.Errorf("at the end: may come back to %d", got)
	}
}
