package link

import (
	"errors"
	"fmt"
	"net"
	"time"
)

// A deadline moves on while there is progress. Each move costs a timer, so it is
// made for many chunks: none has less than allow, and one that stalls is
// noticed after at most a quarter more.
type deadline struct {
	set   func(time.Time) error // of the stream
	allow time.Duration
	at    time.Time // zero: none is set
}

// extend gives what comes next its time.
func (d *deadline) extend() {
	now := time.Now()
	if d.at.Sub(now) >= d.allow {
		return
	}
	d.at = now.Add(d.allow + d.allow/4)
	d.set(d.at)
}

// excuse gives late bytes another chance if the connection has carried something
// meanwhile, up to allow after that: they may stand behind it. It reports whether there is one.
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

// late reports whether a deadline has passed, in the words of any transport.
func late(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}

// A silentError says that a connection was given up because the other end, or
// the way to it, was as if dead.
type silentError struct{ after time.Duration }

func (e *silentError) Error() string {
	return fmt.Sprintf("nothing was heard of it for %v", e.after)
}

// beatsPerDetect is how many signs of life a peer with nothing to say gives in the
// time after which its silence would mean that it is gone.
const beatsPerDetect = 4
