package node

import (
	"context"
	"errors"
	"fmt"

	"gossiptrainer/internal/record"
	"gossiptrainer/node/vector"
	"gossiptrainer/topology"
)

// A VectorError says why the vector of a worker has not come, and names both.
type VectorError = vector.Error

// Publish lets the other workers Fetch a copy of x under a tag of 1 to 32 printable characters. The
// copy is kept until each has it. Call it after Join.
func (n *Node) Publish(tag string, x []float32) { n.vectors.Publish(tag, x) }

// Fetch waits until a worker has published a vector of len(x) elements, and copies it to x. It fails
// with a *NetworkError that wraps a *VectorError. A worker that was there is lost when it has been gone
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
	t := n.statusTopic()
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
