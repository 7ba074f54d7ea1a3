// Package vector lets the members of a run fetch vectors from each other: the start of worker 0, and
// the mean over all workers. One end publishes a vector under a tag, the other one asks for it.
//
// It serves members that pass the handshake of a link, and refuses all others. It knows no round, no graph
// and no algorithm.
package vector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/protocol"

	"gossiptrainer/node/handshake"
	"gossiptrainer/node/socket"
	"gossiptrainer/topology"
)

// protocolID is the protocol of streams that carry a vector.
const protocolID protocol.ID = "/gossiptrainer/vector/1.0.0"

// A Config holds what a service shares with the links of its worker.
type Config struct {
	Host      *socket.Host
	Hello     func() handshake.Hello // the current one of this worker
	Admission *handshake.Admission
	Detect    time.Duration // a silent peer sends a sign of life four times in this time
	Refused   *socket.Refusals
	Log       *slog.Logger
}

// A Service publishes vectors and fetches those of others. Several goroutines may call its methods.
type Service struct {
	Config
	shelf          *shelf
	members        atomic.Pointer[handshake.Members]
	sent, received atomic.Int64
	ctx            context.Context
	cancel         context.CancelFunc

	mu     sync.Mutex
	met    map[topology.Rank]bool // workers that have passed the handshake
	absent map[topology.Rank]bool // workers that were lost and have not come back
}

// errLost says that a worker was reachable and has been gone for 10 seconds.
var errLost = errors.New("lost")

// A fetchError says why the vector of a worker has not come. It wraps errLost for a worker that is gone,
// and a *handshake.RefusedError if one of the two refuses the other.
type fetchError struct {
	Rank topology.Rank
	Tag  string
	Err  error
}

func (e *fetchError) Error() string {
	return fmt.Sprintf("vector %s of worker %d: %v", e.Tag, e.Rank, e.Err)
}

// Unwrap returns the cause.
func (e *fetchError) Unwrap() error { return e.Err }

// New returns a service that serves no peer before Know. The caller must Close it.
func New(c Config) *Service {
	s := &Service{
		Config: c, shelf: newShelf(), met: make(map[topology.Rank]bool), absent: make(map[topology.Rank]bool),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Know enters the members and serves them from now on.
func (s *Service) Know(m handshake.Members) {
	s.members.Store(&m)
	s.Host.SetStreamHandler(protocolID, s.answer)
}

// Close ends all transfers.
func (s *Service) Close() {
	s.Host.RemoveStreamHandler(protocolID)
	s.cancel()
}

// Publish lets all other workers fetch a copy of x under a tag of 1 to 32 bytes. The copy is kept until
// each has fetched it, or until Close.
func (s *Service) Publish(tag string, x []float32) {
	s.shelf.publish(key{tag: tag}, x, s.audience())
}

// Show lets all other workers fetch, under a tag, what read returns when they ask. Several goroutines may call read.
func Show(s *Service, tag string, read func() ([]float32, error)) { s.shelf.show(key{tag: tag}, read) }

// audience returns all other workers.
func (s *Service) audience() (all []topology.Rank) {
	m := s.members.Load()
	for i := range m.IDs {
		if rank := topology.Rank(i); rank != m.Self {
			all = append(all, rank)
		}
	}
	return all
}

// Leave refuses all vectors that this worker has not published, as its run is over.
func (s *Service) Leave() { s.shelf.end() }

// Carried returns the bytes of vectors sent and received, without handshakes.
func (s *Service) Carried() (sent, received int64) { return s.sent.Load(), s.received.Load() }

// Serves reports whether a transfer with a worker may be under way, so that its connection is needed.
func (s *Service) Serves(rank topology.Rank) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.met[rank]
}

// enter notes that a worker has passed the handshake.
func (s *Service) enter(rank topology.Rank) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.met[rank] = true
	delete(s.absent, rank)
}

// others calls do for all other workers at once, and returns the first error.
func (s *Service) others(ctx context.Context, do func(ctx context.Context, rank topology.Rank) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	m := s.members.Load()
	for i := range m.IDs {
		rank := topology.Rank(i)
		if rank == m.Self {
			continue
		}
		wg.Go(func() {
			if err := do(ctx, rank); err != nil {
				cancel(err) // the first one counts
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}
