package vector

import (
	"context"

	"gossiptrainer/topology"
)

// tagStart names the vector with which all workers begin.
const tagStart = "start"

// Start gives all workers the vector x of worker 0. Workers form a binary tree: worker r fetches from
// worker (r−1)/2 and passes the vector on to workers 2r+1 and 2r+2. The call returns when x is there,
// and goes on to serve. A worker with a checkpoint calls NoStart instead.
func (s *Service) Start(ctx context.Context, x []float32) error {
	m := s.members.Load()
	if m.Self != 0 {
		if err := s.Fetch(ctx, (m.Self-1)/2, tagStart, x); err != nil {
			return err
		}
	}
	var next []topology.Rank
	for child := 2*m.Self + 1; child <= 2*m.Self+2 && int(child) < len(m.IDs); child++ {
		next = append(next, child)
	}
	if len(next) > 0 {
		s.shelf.publish(key{tag: tagStart}, x, next)
	}
	return nil
}

// NoStart refuses the start to workers that ask this one, unless Start has been called.
func (s *Service) NoStart() { s.shelf.expire(tagStart, 1) }
