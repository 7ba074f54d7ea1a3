package vector

import (
	"context"
	"errors"
	"time"

	"gossiptrainer/node/handshake"
	"gossiptrainer/node/socket"
	"gossiptrainer/topology"
)

// tagStart names the vector with which all workers begin.
const tagStart = "start"

// Start gives all workers the vector x of worker 0. Workers form a binary tree: worker r fetches from
// worker (r−1)/2 and passes the vector on to workers 2r+1 and 2r+2. The call returns when x is there,
// and goes on to serve. A worker with a checkpoint calls LendStart or NoStart instead.
//
// A worker of other settings than the one before it fails if all other workers refuse it too. If one of
// them accepts it, the one before it has the wrong settings, and Start waits until that one has been
// started again.
func (s *Service) Start(ctx context.Context, x []float32) error {
	m := s.members.Load()
	if m.Self != 0 {
		if err := s.begin(ctx, (m.Self-1)/2, tagStart, x, Fail); err != nil {
			return err
		}
	}
	if next := s.next(); len(next) > 0 {
		s.shelf.publish(key{tag: tagStart}, x, next)
	}
	return nil
}

// LendStart is Start for a worker that has begun before, and can read the vector. It does so when a worker asks that
// has not begun, because the run was interrupted before.
func (s *Service) LendStart(read func() ([]float32, error)) {
	if next := s.next(); len(next) > 0 {
		s.shelf.lend(key{tag: tagStart}, read, next)
	}
}

// next returns the workers to which this one passes the start on.
func (s *Service) next() (next []topology.Rank) {
	m := s.members.Load()
	for child := 2*m.Self + 1; child <= 2*m.Self+2 && int(child) < len(m.IDs); child++ {
		next = append(next, child)
	}
	return next
}

// NoStart refuses the start to workers that ask this one, unless Start or LendStart has been called.
func (s *Service) NoStart() { s.shelf.expire(tagStart, 1) }

// betweenStarts is how long a worker waits before it asks one again that has other settings.
const betweenStarts = time.Second

// begin fetches a vector that a worker needs before its first round. With Await it waits for one that is lost.
func (s *Service) begin(ctx context.Context, before topology.Rank, tag string, x []float32, lost Absence) error {
	for {
		err := s.Fetch(ctx, before, tag, x)
		if lost == Await && errors.Is(err, errLost) {
			s.Log.Info("waits for a lost worker", "worker", int(before), "vector", tag, "why", err)
			socket.Sleep(ctx, betweenStarts)
			continue
		}
		no, refused := errors.AsType[*handshake.RefusedError](err)
		if !refused || no.Reason == handshake.LostState || no.Reason == handshake.RunOver || s.unwanted(ctx, before) {
			return err
		}
		s.Log.Info("waits for a worker of other settings", "worker", int(before), "vector", tag, "why", err)
		socket.Sleep(ctx, betweenStarts)
	}
}

// unwanted reports whether all workers besides one that has refused this one refuse it too. It is false
// while some do not answer.
func (s *Service) unwanted(ctx context.Context, but topology.Rank) bool {
	return s.others(ctx, func(ctx context.Context, rank topology.Rank) error {
		if rank == but {
			return nil
		}
		err := s.meet(ctx, rank)
		if no, refused := errors.AsType[*handshake.RefusedError](err); refused && no.Permanent() {
			return nil
		}
		return errWanted
	}) == nil
}

var errWanted = errors.New("not refused")

// meet passes the handshake with a worker and wants nothing.
func (s *Service) meet(ctx context.Context, rank topology.Rank) error {
	stream, err := s.Host.Open(ctx, s.members.Load().IDs[rank], protocolID)
	if err != nil {
		return err
	}
	defer stream.Reset()
	defer context.AfterFunc(ctx, func() { stream.Reset() })()
	return s.greet(handshake.New(stream), rank)
}
