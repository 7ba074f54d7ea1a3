package socket

import (
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"gossiptrainer/internal/shape"
	"gossiptrainer/topology"
)

// A shaper limits the bytes that this host sends as the run file says, without help of the operating
// system. Below the encryption, bytes wait until their time has come. Each sender shapes its direction
// of a link. A nil shaper does nothing.
type shaper struct {
	network shape.Network
	alarms  func() alarm
	began   time.Time
	open    sync.WaitGroup // connections that may still pass bytes on

	mu     sync.Mutex
	sender *shape.Sender
	ranks  map[peer.ID]topology.Rank // nil before the roster is known
}

// outside stands for peers that have no rank, or none yet: the uplink limits them.
const outside topology.Rank = -1

// newShaper returns nil if nothing is limited now or later.
func newShaper(n shape.Network, later bool) *shaper {
	if !n.Limited() && !later {
		return nil
	}
	return &shaper{network: n, alarms: newAlarm, began: time.Now(), sender: n.NewSender(outside)}
}

// know enters the ids of all workers by rank, so that links with a limit of their own
// have it from now on.
func (s *shaper) know(self topology.Rank, ids []peer.ID) {
	if s == nil {
		return
	}
	ranks := make(map[peer.ID]topology.Rank, len(ids))
	for rank, id := range ids {
		ranks[id] = topology.Rank(rank)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sender, s.ranks = s.network.NewSender(self), ranks
}

// limit limits all that this host sends to bits per second; 0 restores the limit of
// the network.
func (s *shaper) limit(bits float64) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sender.Limit(bits)
}

// rank returns the rank of id, outside without one; s.mu is held.
func (s *shaper) rank(id peer.ID) topology.Rank {
	if rank, ok := s.ranks[id]; ok {
		return rank
	}
	return outside
}

// book counts bytes as sent to id now and returns their time of arrival.
func (s *shaper) book(id peer.ID, bytes int) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, arrives := s.sender.Book(s.rank(id), time.Since(s.began), bytes)
	return s.began.Add(arrives)
}

// room returns how many bytes may be under way to id: those on the link, those of waiting frames, and
// those that leave while a sleeper oversleeps.
func (s *shaper) room(id peer.ID) int {
	l := s.link(id)
	if l.Rate <= 0 {
		return unlimitedRoom
	}
	held := l.Rate / 8 * (l.Latency + l.Jitter + ahead + oversleep).Seconds()
	return leastRoom + int(held)
}

const (
	leastRoom     = 64 << 10
	unlimitedRoom = 4 << 20
	oversleep     = 4 * time.Millisecond
)

// link returns the limits of messages to id.
func (s *shaper) link(id peer.ID) shape.Link {
	if s == nil {
		return shape.Link{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sender.Link(s.rank(id))
}

// slowest returns the least bits per second of all links of the run, 0 if none is
// limited. It is the same for all peers.
func (s *shaper) slowest() float64 {
	if s == nil {
		return 0
	}
	least := s.network.Uplink.Rate
	for _, l := range s.network.Links {
		if least <= 0 || l.Rate > 0 && l.Rate < least {
			least = l.Rate
		}
	}
	return least
}

// leastWindow and mostWindow bound how many bytes of a stream may be under way.
const (
	leastWindow = 4 << 20
	mostWindow  = 16 << 20
)

// window returns how many bytes of a stream may be under way, a power of two. It is large enough that
// no link waits for the other end's acknowledgement. That one comes when the other end has read half
// of the bytes, and takes a round trip of a link on which both ends send.
func (s *shaper) window() uint32 {
	most := 0.0
	if s != nil {
		most = onTheWay(s.network.Uplink)
		for _, l := range s.network.Links {
			most = max(most, onTheWay(l))
		}
	}
	window := uint32(leastWindow)
	for window < mostWindow && float64(window) < 2*most {
		window *= 2
	}
	return window
}

// onTheWay returns the bytes that leave during a round trip, with the waiting time below the streams.
func onTheWay(l shape.Link) float64 {
	return l.Rate / 8 * 2 * (l.Latency + l.Jitter + ahead + oversleep).Seconds()
}

// pace waits until bytes of a frame to id may be written, or until over is closed. Their turn
// comes when few other bytes wait. Frames of a run are many and large. With turns, telemetry and signs
// of life never queue behind them, and links share an uplink fairly.
func (s *shaper) pace(id peer.ID, bytes int, over <-chan struct{}) {
	if s == nil {
		return
	}
	s.mu.Lock()
	turn := s.sender.Promise(s.rank(id), time.Since(s.began), bytes)
	s.mu.Unlock()
	if turn <= ahead {
		return
	}
	timer := time.NewTimer(turn - ahead)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-over:
	}
}

// ahead is how long the bytes of frames may wait below the stream: long enough to keep the link busy
// while a sleeper oversleeps.
const ahead = 20 * time.Millisecond

// pieces returns how many bytes of a frame to id are written at once.
func (s *shaper) pieces(id peer.ID) int { return s.link(id).Piece() }

// lastWords bounds how long a closed connection still sends bytes written before.
const lastWords = 2 * time.Second

// wait waits until closed connections have sent their last bytes.
func (s *shaper) wait() {
	if s == nil {
		return
	}
	silent := make(chan struct{})
	go func() {
		s.open.Wait()
		close(silent)
	}()
	timer := time.NewTimer(lastWords)
	defer timer.Stop()
	select {
	case <-silent:
	case <-timer.C:
	}
}
