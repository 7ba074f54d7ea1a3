package handshake

import (
	"errors"
	"time"
)

// Duplicated returns the refusal of a process whose identity another one has. The other process may
// have died unnoticed, so the refused one retries for a while.
func Duplicated(who string) *RefusedError {
	return Refusal(Duplicate, "%s is here already, as another process with the same identity: "+
		"every peer needs a key of its own", who)
}

// A DuplicateTimer distinguishes a duplicate from a process that came back before its own end was
// noticed. The zero value is ready.
type DuplicateTimer struct{ since time.Time }

// Sure takes the error of an attempt to reach a peer. It reports whether another process has been in
// the way for longer than its end could go unnoticed.
func (t *DuplicateTimer) Sure(err error, detect time.Duration) bool {
	no, ok := errors.AsType[*RefusedError](err)
	if !ok || no.Reason != Duplicate || !no.Remote {
		t.since = time.Time{}
		return false
	}
	if t.since.IsZero() {
		t.since = time.Now()
	}
	return time.Since(t.since) > 2*detect
}
