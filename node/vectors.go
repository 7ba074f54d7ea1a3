package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"gossiptrainer/internal/record"
	"gossiptrainer/node/vector"
	"gossiptrainer/topology"
)

// Publish lets the other workers Fetch a copy of x under a tag of 1 to 32 printable characters. The
// copy is kept until each has it. Call it after Join.
func (n *Node) Publish(tag string, x []float32) { n.vectors.Publish(tag, x) }

// Fetch waits until a worker has published a vector of len(x) elements, and copies it to x. It fails
// with a *NetworkError that wraps a *vector.Error. A worker that was there is lost when it has been gone
// for 10 seconds; one that has finished publishes nothing more. Other causes are a refusal, vectors of
// different lengths, and the end of ctx. After an error x may hold a part of the vector. Call it after
// Join.
func (n *Node) Fetch(ctx context.Context, rank topology.Rank, tag string, x []float32) error {
	return vectorError(n.vectors.Fetch(ctx, rank, tag, x))
}

// Start copies the vector x of worker 0 to x at all workers. All call it between Join and Run, unless
// they begin from a checkpoint. It returns when x is there, and then serves other workers. Its errors
// are those of Fetch.
func (n *Node) Start(ctx context.Context, x []float32) error {
	if n.me.Rank > 0 {
		n.observe(record.Event{Status: &record.Status{
			Rank: n.me.Rank, State: record.Joining, Detail: "waiting for the start of worker 0",
		}})
	}
	return vectorError(n.vectors.Start(ctx, x))
}

// LendStart is Start for a worker that has begun before. Workers that have not may fetch the vector, which read gives:
// nil if it is not kept. Call it between Join and Run.
func (n *Node) LendStart(read func() ([]float32, error)) { n.vectors.LendStart(read) }

// Gather returns the vectors that all workers pass under a tag, one after the other in the order of ranks. All have the
// length of x. Call it between Join and Run; the status names the workers for which it waits, and what they have not
// told. Under Wait it waits for lost workers too. Under Reweight a worker that comes back takes what another has
// gathered. Its errors are those of Fetch.
func (n *Node) Gather(ctx context.Context, tag string, x []float32, lost LostPolicy) ([]float32, error) {
	var mu sync.Mutex
	var missing []int
	for rank := range n.opts.N {
		if rank != n.me.Rank {
			missing = append(missing, rank)
		}
	}
	say := func() {
		if len(missing) > 0 {
			n.observe(record.Event{Status: &record.Status{
				Rank: n.me.Rank, State: record.Joining, Missing: slices.Clone(missing), Detail: "their " + tag + " are not known",
			}})
		}
	}
	say()
	absence := map[LostPolicy]vector.Absence{Wait: vector.Await, Reweight: vector.LeaveOut}[lost]
	all, err := n.vectors.Gather(ctx, tag, x, absence, func(rank topology.Rank) {
		mu.Lock()
		defer mu.Unlock()
		missing = slices.DeleteFunc(missing, func(r int) bool { return r == int(rank) })
		say()
	})
	return all, vectorError(err)
}

// Told waits until all other workers have what this one has gathered under a tag, for at most ten seconds.
func (n *Node) Told(ctx context.Context, tag string) {
	ctx, cancel := context.WithTimeout(ctx, mostTold)
	defer cancel()
	n.vectors.Told(ctx, tag)
}

// mostTold is how long a peer that will not run lets others learn why.
const mostTold = 10 * time.Second

// Average returns the mean of the vectors x that all workers pass to their call number call, from 1.
// They are summed by rank in float64, and all workers get the same bits. It waits for the slowest one.
//
// Under Reweight, the mean leaves lost workers out, and the log says so; if one is lost during a call,
// workers may get other bits from each other. Under Wait, with checkpoints, it waits for lost workers.
// Otherwise it fails with the errors of Fetch, or with the *StoppedError of a worker that has stopped
// the run. Call it during or after Run, but not after Finish.
func (n *Node) Average(ctx context.Context, call int, x []float32) ([]float32, error) {
	if call < 1 {
		return nil, fmt.Errorf("node: average: call %d: want at least 1", call)
	}
	n.mu.Lock()
	lost := n.lost
	n.mu.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer n.heed(cancel)()
	mean, err := n.vectors.Average(ctx, call, x, lost)
	if stop, ok := errors.AsType[*StoppedError](context.Cause(ctx)); ok {
		return nil, stop
	}
	return mean, vectorError(err)
}

// heed cancels when another worker stops the run, until done is called. It leaves the news for Run and
// Finish.
func (n *Node) heed(cancel context.CancelCauseFunc) (done func()) {
	t := n.Topic()
	if t == nil {
		return func() {}
	}
	over, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		select {
		case err := <-t.Stopped():
			if why, ok := errors.AsType[*StoppedError](err); ok {
				t.Stop(why)
			}
			cancel(err)
		case <-over:
		}
	}()
	return func() {
		close(over)
		<-gone
	}
}

// absence says what an average does about a worker that is lost.
func (w *Worker) absence() vector.Absence {
	switch {
	case w.Lost == Reweight:
		return vector.LeaveOut
	case w.Lost == Wait && w.Checkpoints != nil:
		return vector.Await
	}
	return vector.Fail
}

// vectorError makes an error of the vectors one of the network.
func vectorError(err error) error {
	if err == nil {
		return nil
	}
	op := "link"
	if _, refused := errors.AsType[*RefusedError](err); refused {
		op = opJoin
	}
	return &NetworkError{Op: op, Err: err}
}
