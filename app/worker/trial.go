package worker

import (
	"context"
	"math"
	"sync/atomic"

	"gossiptrainer/internal/work"
)

// A Trial is the effect of a script of faults on the gradients of a worker.
type Trial struct {
	// Begins hears of each round that begins.
	Begins func(round int)
	slow   atomic.Uint64 // bits of the factor
}

// Slow makes gradients take factor times as long from now on; below 1 is 1. It may be called
// while one is computed.
func (t *Trial) Slow(factor float64) { t.slow.Store(math.Float64bits(max(1, factor))) }

// tried wraps a gradient: it reports the round that begins, and takes as long as the script says.
func (t *Trial) tried(ctx context.Context, gradient work.Gradient) work.Gradient {
	if t == nil {
		return gradient
	}
	return func(g []float32, k int, x []float32) (float32, error) {
		t.Begins(k)
		return slowed(ctx, gradient, math.Float64frombits(t.slow.Load()))(g, k, x)
	}
}
