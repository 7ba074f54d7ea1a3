package link

import (
	"errors"
	"fmt"
	"net"
	"time"
)

// A deadline moves on while there is progress. Each move costs a timer, so one move serves many
// chunks. Each chunk has at least the time allow, and a stall is noticed after at most a quarter more.
type deadline struct {
	set   func(time.Time) error // of the stream
	allow time.Duration
	at    time.Time // zero: none is set
}

// extend gives the next chunk its time.
func (d *deadline) extend() {
	now := time.Now()
	if d.at.Sub(now) >= d.allow {
		return
	}
	d.at = now.Add(d.allow + d.allow/4)
	d.set(d.at)
}

// excuse extends a deadline that has passed if the connection has carried other bytes meanwhile, up to
// allow after those: the late bytes may queue behind them. It reports whether it did.
func (d *deadline) excuse(err error, silence func() time.Duration) bool {
	if silence == nil || !late(err) {
		return false
	}
	left := d.allow - silence()
	if left <= 0 {
		return false
	}
	d.at = time.Now().Add(left)
	d.set(d.at)
	return true
}

// late reports whether err says that a deadline has passed, for any transport.
func late(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}

// A silentError says that a connection was closed because nothing came over it.
type silentError struct{ after time.Duration }

func (e *silentError) Error() string {
	return fmt.Sprintf("silent for %v", e.after)
}

// beatsPerDetect is how many signs of life an idle peer sends in the time after which its silence
// counts as a loss.
const beatsPerDetect = 4
