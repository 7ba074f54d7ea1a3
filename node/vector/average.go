package vector

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"gossiptrainer/topology"
)

// An Absence says what Average does about a lost worker.
type Absence int

// Ways to treat a lost worker.
const (
	Fail     Absence = iota // end with an error
	Await                   // wait until it is back
	LeaveOut                // take the mean over the others
)

// Tags of the vectors of an average. Worker s takes the mean of part s of all vectors and publishes it,
// so that each worker sends about two vectors whatever the number of workers.
const (
	tagMean = "mean" // a whole vector of a worker
	tagPart = "part" // the mean of its part
)

// An averaging is one call of Average at one worker.
type averaging struct {
	*Service
	call uint64
	lost Absence
	self topology.Rank
	x    []float32

	mu   sync.Mutex
	left map[topology.Rank]bool // workers that are left out
}

// Average returns the mean of the vectors x that all workers pass to the same call, counted from 1. The
// sum is in the order of ranks, in float64, and all workers get the same bits. With LeaveOut, workers
// may get other bits from each other if one is lost during the call. A copy of x is kept until all
// others have used it. It fails with an *Error, which names the worker.
func (s *Service) Average(ctx context.Context, call int, x []float32, lost Absence) ([]float32, error) {
	m := s.members.Load()
	a := &averaging{
		Service: s, call: uint64(call), lost: lost, self: m.Self, x: x, left: make(map[topology.Rank]bool),
	}
	mean := make([]float32, len(x))
	s.shelf.publish(key{tagMean, a.call}, x, nil)
	from, to := a.part(m.Self)
	mine, err := a.meanOf(ctx, m.Self)
	if err != nil {
		return nil, err
	}
	copy(mean[from:to], mine)
	s.shelf.publish(key{tagPart, a.call}, mine, nil)
	err = a.others(ctx, func(ctx context.Context, rank topology.Rank) error {
		from, to := a.part(rank)
		return a.take(ctx, rank, mean[from:to])
	})
	if err != nil {
		return nil, err
	}
	a.clear()
	return mean, nil
}

// part returns the bounds of the part of a worker.
func (a *averaging) part(rank topology.Rank) (from, to int) {
	n := len(a.members.Load().IDs)
	return len(a.x) * int(rank) / n, len(a.x) * (int(rank) + 1) / n
}

// clear drops what no worker needs any more. A worker that has a mean has seen that all others have its
// vector. That all take part in a call says that they have the mean of the last one. Others may yet
// need the vector to replace the part of a lost worker.
func (a *averaging) clear() {
	next := a.call + 1
	if a.lost == LeaveOut {
		next = a.call
	}
	a.shelf.drop(tagMean, next)
	a.shelf.drop(tagPart, a.call)
}

// meanOf returns the mean of the part that belongs to owner, over all workers that are there.
func (a *averaging) meanOf(ctx context.Context, owner topology.Rank) ([]float32, error) {
	from, to := a.part(owner)
	parts := make([][]float32, len(a.members.Load().IDs))
	parts[a.self] = a.x[from:to]
	if from == to {
		return nil, nil
	}
	r := Request{
		Tag: tagMean, Call: a.call, Elements: uint64(len(a.x)), From: uint64(from), Count: uint64(to - from),
	}
	err := a.others(ctx, func(ctx context.Context, rank topology.Rank) error {
		part := make([]float32, to-from)
		here, err := a.patient(ctx, rank, r, part)
		if here {
			parts[rank] = part
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return mean(parts, to-from), nil
}

// mean returns the mean of the vectors that are there, each of n elements.
func mean(vectors [][]float32, n int) []float32 {
	vectors = slices.DeleteFunc(vectors, func(x []float32) bool { return x == nil })
	sum, out := make([]float64, n), make([]float32, n)
	for _, x := range vectors {
		for i, v := range x {
			sum[i] += float64(v)
		}
	}
	for i, v := range sum {
		out[i] = float32(v / float64(len(vectors)))
	}
	return out
}

// take fetches the mean of the part of a worker, or computes it in place of a lost one.
func (a *averaging) take(ctx context.Context, owner topology.Rank, x []float32) error {
	if len(x) == 0 {
		return nil
	}
	here, err := a.patient(ctx, owner, whole(key{tagPart, a.call}, len(x)), x)
	if here || err != nil {
		return err
	}
	instead, err := a.meanOf(ctx, owner)
	copy(x, instead)
	return err
}

// patient fetches from a worker. If it is lost, here is false, or patient goes on or fails, as the call
// has it.
func (a *averaging) patient(ctx context.Context, rank topology.Rank, r Request, x []float32) (here bool, err error) {
	for {
		err := a.fetch(ctx, rank, r, x)
		switch {
		case err == nil:
			return true, nil
		case !errors.Is(err, errLost) || a.lost == Fail:
			return false, fmt.Errorf("average %d: %w", a.call, err)
		case a.lost == LeaveOut:
			a.leaveOut(rank, err)
			return false, nil
		}
		a.Log.Warn("the average waits for a lost worker", "worker", int(rank), "call", a.call, "why", err)
	}
}

// leaveOut notes that the mean lacks a worker.
func (a *averaging) leaveOut(rank topology.Rank, why error) {
	a.mu.Lock()
	known := a.left[rank]
	a.left[rank] = true
	a.mu.Unlock()
	if !known {
		a.Log.Warn("a lost worker is left out of the average", "worker", int(rank), "call", a.call, "why", why)
	}
}
