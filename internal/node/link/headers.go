package link

import (
	"sync"

	"gossiptrainer/internal/wire"
)

// headerCache makes the headers of frames. One message goes to several neighbours under
// one header: the first link to send it takes the checksum, the others copy.
type headerCache struct {
	mu   sync.Mutex
	last uint64 // the message that head belongs to, 0: none
	of   wire.Header
	head [wire.HeaderLen]byte
	next uint64 // how many messages have a number
}

// number returns a number for a message of several frames, which are the same
// for all their receivers; 0 for a frame on its own.
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
