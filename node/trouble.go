package node

import (
	"fmt"
	"time"

	"gossiptrainer/node/socket"
)

// trouble says how the link is, and on which machine its other end is, for people.
func (e *edge) trouble() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.host != "" {
		return "on " + e.host + ": " + e.standing()
	}
	return e.standing()
}

// standing says how the link is. It is called under the lock of e.
func (e *edge) standing() string {
	ago := time.Since(e.since).Round(time.Second)
	switch {
	case e.link != nil:
		return fmt.Sprintf("link up since %v", ago)
	case e.last == nil && !e.dials:
		return fmt.Sprintf("has not called in %v", ago)
	case e.last == nil:
		return "being called"
	case !e.ever:
		return fmt.Sprintf("not reached in %v: %s", ago, socket.Cause(e.last))
	default:
		return fmt.Sprintf("link down for %v: %s", ago, socket.Cause(e.last))
	}
}
