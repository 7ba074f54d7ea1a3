package node

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/libp2p/go-libp2p/p2p/net/swarm"
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
		return fmt.Sprintf("not reached in %v: %s", ago, cause(e.last))
	default:
		return fmt.Sprintf("link down for %v: %s", ago, cause(e.last))
	}
}

// cause shortens libp2p's account of a failed dial, which has a line per
// address and its own words around each.
func cause(err error) string {
	if errors.Is(err, swarm.ErrNoAddresses) {
		return "no address: the run file has none, and multicast (mDNS) has not found one"
	}
	var dial *swarm.DialError
	if !errors.As(err, &dial) {
		return err.Error()
	}
	var parts []string
	for i, d := range dial.DialErrors {
		if i == 3 {
			parts = append(parts, fmt.Sprintf("and %d more", len(dial.DialErrors)-i))
			break
		}
		parts = append(parts, d.Address.String()+": "+innermost(d.Cause).Error())
	}
	if len(parts) == 0 {
		return innermost(dial.Cause).Error()
	}
	return strings.Join(parts, ", ")
}

func innermost(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
