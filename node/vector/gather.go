package vector

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"gossiptrainer/topology"
)

// wholeOf is the prefix of the tag under which a worker publishes all that it has gathered.
const wholeOf = "all "

// errGathered ends the requests of a worker that has all vectors.
var errGathered = errors.New("gathered")

// Gather returns the vectors that all workers pass under a tag of at most 28 bytes, one after the other in the order of
// ranks. All have the same length. heard, called by several goroutines, hears the rank of each that has come. Copies
// are kept until Close, so that a worker that starts again gathers them as well. With Await it waits for a worker that
// is lost. With LeaveOut others may be gone for good: a worker that comes back takes what another one has gathered. Its
// errors are those of Fetch.
func (s *Service) Gather(
	ctx context.Context, tag string, x []float32, lost Absence, heard func(topology.Rank),
) ([]float32, error) {
	m := s.members.Load()
	all := make([]float32, len(m.IDs)*len(x))
	part := func(rank topology.Rank) []float32 { return all[int(rank)*len(x):][:len(x)] }
	copy(part(m.Self), x)
	s.keep(tag, x)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var came atomic.Int64
	whole := make(chan []float32, len(m.IDs))
	err := s.others(ctx, func(ctx context.Context, rank topology.Rank) error {
		if lost == LeaveOut {
			done := make(chan struct{})
			defer func() { <-done }()
			go func() {
				defer close(done)
				if y := make([]float32, len(all)); s.Fetch(ctx, rank, wholeOf+tag, y) == nil {
					whole <- y
					cancel(errGathered)
				}
			}()
		}
		err := s.begin(ctx, rank, tag, part(rank), lost)
		if err == nil {
			heard(rank)
			if int(came.Add(1)) == len(m.IDs)-1 {
				cancel(errGathered)
			}
		}
		return err
	})
	if errors.Is(err, errGathered) {
		err = nil
		select {
		case all = <-whole:
		default:
		}
	}
	if err == nil {
		s.keep(wholeOf+tag, all)
	}
	return all, err
}

// keep publishes a copy of x until Close. A copy that is there already stays, and with it who has fetched it.
func (s *Service) keep(tag string, x []float32) {
	if p, _, _ := s.shelf.find(key{tag: tag}); p != nil && slices.Equal(p.x, x) {
		return
	}
	s.shelf.add(key{tag: tag}, &publication{x: slices.Clone(x), stays: true}, s.audience())
}

// Told waits until all other workers have fetched what this one has published under a tag, or ctx ends.
func (s *Service) Told(ctx context.Context, tag string) {
	for {
		left, changed := s.shelf.unread(key{tag: tag})
		if !left {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}
