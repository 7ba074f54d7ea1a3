package node

import (
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"gossiptrainer/internal/shape"
	"gossiptrainer/topology"
)

// A shaper keeps what this host sends to the limits of the run file, without
// help of the operating system: below the encryption bytes wait until their
// time has come. Both directions of a link are shaped, each by its sender. A nil
// shaper does nothing.
type shaper struct {
	network shape.Network
	began   time.Time

	mu     sync.Mutex
	sender *shape.Sender
	ranks  map[peer.ID]topology.Rank // nil before the roster is known
}

// outside stands for peers that have no rank, or none yet: they are reached by
// the uplink.
const outside topology.Rank = -1

// newShaper returns nil if nothing is limited.
func newShaper(n shape.Network) *shaper {
	if !n.Limited() {
		return nil
	}
	return &shaper{network: n, began: time.Now(), sender: n.NewSender(outside)}
}

// know enters who goes by which rank, so that links with a limit of their own
// have it from now on.
func (s *shaper) know(r *roster) {
	if s == nil {
		return
	}
	ranks := make(map[peer.ID]topology.Rank, len(r.ids))
	for rank, id := range r.ids {
		ranks[id] = topology.Rank(rank)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sender, s.ranks = s.network.NewSender(r.self), ranks
}

// rank returns whom id is; s.mu is held.
func (s *shaper) rank(id peer.ID) topology.Rank {
	if rank, ok := s.ranks[id]; ok {
		return rank
	}
	return outside
}

// book sends bytes to id now and returns when they arrive.
func (s *shaper) book(id peer.ID, bytes int) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, arrives := s.sender.Book(s.rank(id), time.Since(s.began), bytes)
	return s.began.Add(arrives)
}

// room returns how many bytes may be under way to id: what the link holds, and
// what leaves while a sleeper oversleeps.
func (s *shaper) room(id peer.ID) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.sender.Link(s.rank(id))
	if l.Rate <= 0 {
		return unlimitedRoom
	}
	held := l.Rate / 8 * (l.Latency + l.Jitter + oversleep).Seconds()
	return leastRoom + int(held)
}

const (
	leastRoom     = 64 << 10
	unlimitedRoom = 4 << 20
	oversleep     = 4 * time.Millisecond
)

// rate returns the bits per second that the link to id is limited to, 0 if it is
// not.
func (s *shaper) rate(id peer.ID) float64 {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sender.Link(s.rank(id)).Rate
}

// pace waits while more than a little of what was sent to id has not left yet,
// or until over is closed: so that frames of a run, which are many and large, do
// not make telemetry and signs of life queue behind them.
func (s *shaper) pace(id peer.ID, over <-chan struct{}) {
	if s == nil {
		return
	}
	for {
		s.mu.Lock()
		backlog := s.sender.Backlog(s.rank(id), time.Since(s.began))
		s.mu.Unlock()
		if backlog <= ahead {
			return
		}
		timer := time.NewTimer(backlog - ahead)
		select {
		case <-timer.C:
		case <-over:
			timer.Stop()
			return
		}
	}
}

// ahead is how long the bytes of frames may wait below the stream: enough to
// keep the link busy while a sleeper oversleeps.
const ahead = 10 * time.Millisecond

// pieces returns how many bytes of a frame are written at once.
func (s *shaper) pieces() int {
	if s == nil {
		return chunk
	}
	return chunk / 4
}
