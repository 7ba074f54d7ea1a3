package mux

import (
	"sync"
	"time"
)

// A deadline is a time at which the goroutines that wait for a stream look again.
type deadline struct {
	at    time.Time // zero: none
	timer *time.Timer
}

// set sets the deadline of t.
func (d *deadline) set(t *Stream, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d.at = at
	switch {
	case at.IsZero():
		d.stop()
	case d.timer == nil:
		d.timer = time.AfterFunc(time.Until(at), func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.change.Broadcast()
		})
	default:
		d.timer.Reset(time.Until(at))
	}
	t.change.Broadcast()
}

// passed reports whether the deadline is over.
func (d *deadline) passed() bool { return !d.at.IsZero() && !time.Now().Before(d.at) }

func (d *deadline) stop() {
	if d.timer != nil {
		d.timer.Stop()
	}
}

// A segment is a buffer for bytes that came when no reader waited.
type segment [16 << 10]byte

// mostSegments bounds the free segments: 8 MiB.
const mostSegments = 512

// segments are free. A sync.Pool would lose them with each garbage collection, of which large heaps take many.
var segments struct {
	mu   sync.Mutex
	free []*segment
}

func getSegment() []byte {
	segments.mu.Lock()
	defer segments.mu.Unlock()
	last := len(segments.free) - 1
	if last < 0 {
		return new(segment)[:0]
	}
	s := segments.free[last]
	segments.free = segments.free[:last]
	return s[:0]
}

func putSegment(b []byte) {
	segments.mu.Lock()
	defer segments.mu.Unlock()
	if len(segments.free) < mostSegments {
		segments.free = append(segments.free, (*segment)(b[:len(segment{})]))
	}
}
