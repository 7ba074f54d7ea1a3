package node

import (
	"runtime"
	"time"
)

// A job is a gradient to compute, an outcome is its result.
type job struct {
	k int
	x []float32
}

type outcome struct {
	k    int
	g    []float32
	loss float32
	err  error
	took time.Duration
}

// An oracle computes gradients while the driver listens.
type oracle struct {
	jobs     chan job
	outcomes chan outcome
	busy     bool
	due      job // that waits for the disk; x is nil where none does
}

// cutoff is how long a driver waits at its end for the gradient under way.
const cutoff = 500 * time.Millisecond

func newOracle() oracle { return oracle{jobs: make(chan job, 1), outcomes: make(chan outcome, 1)} }

func (o *oracle) ask(j job) {
	o.busy = true
	o.jobs <- j
}

// start begins to work for w until stop is called, which waits for the gradient under way for at most
// cutoff.
func (o *oracle) start(w *Worker) (stop func()) {
	idle := make(chan struct{})
	go func() {
		defer close(idle)
		compute(o.jobs, o.outcomes, w)
	}()
	return func() {
		close(o.jobs)
		select {
		case <-idle:
		case <-time.After(cutoff):
		}
	}
}

// compute does one job at a time until there are no more. The machine owns the buffer from the outcome
// to the next job.
func compute(jobs <-chan job, outcomes chan<- outcome, w *Worker) {
	g := w.Momentum
	for j := range jobs {
		if len(g) != len(j.x) {
			g = make([]float32, len(j.x))
		}
		runtime.Gosched() // frames go first: neighbours wait for them, and not for the gradient
		began := time.Now()
		loss, err := w.Gradient(g, j.k, j.x)
		outcomes <- outcome{k: j.k, g: g, loss: loss, err: err, took: time.Since(began)}
	}
}
