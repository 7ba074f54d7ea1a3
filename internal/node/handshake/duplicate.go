package handshake

import (
	"errors"
	"time"
)

// Duplicated is what a process is told whose identity another one has. The other process
// may have died without being noticed yet, so the one that is told goes on trying for a while.
func Duplicated(who string) *RefusedError {
	return Refusal(Duplicate, "%s is here already, as another process with the same identity: "+
		"every peer needs a key of its own", who)
}

// A DuplicateTimer tells a process whose identity is in use from one that comes back before
// its own end was noticed. The zero value is ready.
type DuplicateTimer struct{ since time.Time }

// Sure takes in how a try to reach a peer ended, and reports whether
// another process has been in the way for longer than its end would go unnoticed.
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
