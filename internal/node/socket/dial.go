package socket

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
)

// Waits between two attempts to reach a peer double from FirstRetry to LastRetry. Callers shorten each
// at random by up to a half, so that peers that lost each other at once do not all come back at once.
const (
	FirstRetry = 100 * time.Millisecond
	LastRetry  = 2 * time.Second
)

// dialTime bounds one attempt to connect and open a stream.
const dialTime = 5 * time.Second

// Open connects to id if there is no connection, and opens a stream. That succeeds even if id does not
// serve the protocol: only an answer shows that it does.
func (h *Host) Open(ctx context.Context, id peer.ID, p protocol.ID) (network.Stream, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	if err := h.Reach(ctx, id); err != nil {
		return nil, err
	}
	return h.NewStream(network.WithNoDial(ctx, "the connection is there"), id, p)
}

// Reach connects to id, unless it is connected already.
func (h *Host) Reach(ctx context.Context, id peer.ID) error {
	if sw, ok := h.Network().(*swarm.Swarm); ok {
		sw.Backoff().Clear(id) // libp2p waits far longer than this package
	}
	return h.Connect(ctx, peer.AddrInfo{ID: id})
}

// Sleep waits for d, and reports whether ctx still lives then.
func Sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Cause shortens libp2p's error of a failed dial, which has a line per address and adds words to each.
func Cause(err error) string {
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
		parts = append(parts, d.Address.String()+": "+innermost(d.Cause).Error()+remedy(d.Cause))
	}
	if len(parts) == 0 {
		return innermost(dial.Cause).Error()
	}
	return strings.Join(parts, ", ")
}

// remedy names the key that two peers must have alike to connect, "" if that is not the trouble.
func remedy(err error) string {
	if strings.Contains(err.Error(), "failed to negotiate security protocol") {
		return ": both peers need the same node.security"
	}
	return ""
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
