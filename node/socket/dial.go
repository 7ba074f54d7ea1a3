package socket

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
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
// serve the protocol: only an answer shows that it does. It fails as Reach does.
func (h *Host) Open(ctx context.Context, id peer.ID, p protocol.ID) (network.Stream, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	if err := h.Reach(ctx, id); err != nil {
		return nil, err
	}
	return h.NewStream(network.WithNoDial(ctx, "the connection is there"), id, p)
}

// Reach connects to id, unless it is connected already. It fails with a *TwinError if this host's own identity answers
// in the place of id.
func (h *Host) Reach(ctx context.Context, id peer.ID) error {
	if sw, ok := h.Network().(*swarm.Swarm); ok {
		sw.Backoff().Clear(id) // libp2p waits far longer than this package
	}
	if err := h.Connect(ctx, peer.AddrInfo{ID: id}); err != nil {
		return h.recognise(id, err)
	}
	return nil
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
	if twin, ok := errors.AsType[*TwinError](err); ok {
		return twin.Error() + ": " + twin.Hint()
	}
	var dial *swarm.DialError
	if !errors.As(err, &dial) {
		return err.Error() + unanswered(err)
	}
	var parts []string
	for i, d := range dial.DialErrors {
		if i == 3 {
			parts = append(parts, fmt.Sprintf("and %d more", len(dial.DialErrors)-i))
			break
		}
		parts = append(parts, d.Address.String()+": "+innermost(d.Cause).Error()+fix(d.Cause))
	}
	if len(parts) == 0 {
		return innermost(dial.Cause).Error() + unanswered(dial)
	}
	return strings.Join(parts, ", ")
}

// unanswered names the likely trouble of a try that ended with its time, "" of others. Where a connection was there,
// the exchange of protocols has begun over it.
func unanswered(err error) string {
	text := err.Error()
	late := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) ||
		strings.Contains(text, syscall.ETIMEDOUT.Error())
	switch {
	case !late:
		return ""
	case strings.Contains(text, "failed to negotiate") || strings.Contains(text, "identify failed"):
		return ": a connection opens, and no answer comes over it: long packets are lost on the way (MTU), or the " +
			"other end hangs; peer doctor FILE on both machines tells which"
	}
	return ": no answer from there: a firewall, or a wrong address; peer doctor FILE on both machines tells which"
}

// fix names the key that two peers must have alike to connect, or the likely trouble of a handshake without an end,
// "" for other troubles.
func fix(err error) string {
	if !strings.Contains(err.Error(), "failed to negotiate") {
		return ""
	}
	if text := unanswered(err); text != "" {
		return text
	}
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
