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

// segments keeps buffers of bytes that came when no reader waited.
var segments = sync.Pool{New: func() any { return new([16 << 10]byte) }}

func getSegment() []byte { return segments.Get().(*[16 << 10]byte)[:0] }

func putSegment(b []byte) { segments.Put((*[16 << 10]byte)(b[:16<<10])) }
