package link

import (
	"sync"

	"gossiptrainer/internal/wire"
)

// headerCache makes the headers of frames. A message has the same header for all neighbours: the first
// link to send it computes the checksum, the others copy it.
type headerCache struct {
	mu   sync.Mutex
	last uint64 // number of the message of head, 0 without one
	of   wire.Header
	head [wire.HeaderLen]byte
	next uint64 // last number given
}

// number returns a number for a message of several equal frames, one for each receiver; 0 for a single
// frame.
func (s *headerCache) number(frames int) uint64 {
	if frames < 2 {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	return s.next
}

// put is wire.PutHeader for a frame of the message of this number.
func (s *headerCache) put(dst []byte, message uint64, h wire.Header, payload []byte) error {
	if message == 0 {
		return wire.PutHeader(dst, h, payload)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != message || s.of != h {
		s.last = 0
		if err := wire.PutHeader(s.head[:], h, payload); err != nil {
			return err
		}
		s.last, s.of = message, h
	}
	copy(dst, s.head[:])
	return nil
}
