package socket

import (
	"errors"
	"log/slog"
	"slices"
	"strings"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/sec"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	ma "github.com/multiformats/go-multiaddr"
)

// A TwinError says that another machine shows the identity of this host. That is no proof: anybody can announce an id,
// and show a certificate before its signature is checked. So it is a hint for users.
type TwinError struct {
	At      string // addresses of that machine
	Own     bool   // they are this machine's, and a roster gives them to another peer
	KeyFile string // of this host; "" for a key without a file
}

func (e *TwinError) Error() string {
	if e.Own {
		return e.At + " is an address of this machine, and the roster gives it to a peer with another key"
	}
	return "a machine at " + e.At + " shows the identity of this peer"
}

// Hint says what to do.
func (e *TwinError) Hint() string { return NewKey(e.KeyFile) }

// Tell counts the hint and logs the first one.
func (e *TwinError) Tell(refused *Refusals, log *slog.Logger) {
	refused.TellOnce(log, "another machine shows the identity of this peer", "same identity", "why", e, "hint", e.Hint())
}

// NewKey tells users how to give a machine an identity of its own. file has the key; it is "" for an unknown one.
func NewKey(file string) string {
	if file == "" {
		file = "the key file (node.key)"
	}
	return "if " + file + " was copied between machines, with a disk or a home, move it away on one of them: peer run " +
		"then makes a new key there, and a roster (peers:) needs its id on all machines"
}

// NewKey tells users how to give this machine an identity of its own.
func (h *Host) NewKey() string { return NewKey(h.keyFile) }

// Twin returns the hint for a machine at some addresses that shows the identity of this host.
func (h *Host) Twin(at ...ma.Multiaddr) *TwinError {
	const most = 2
	var texts []string
	for _, a := range at[:min(len(at), most)] {
		texts = append(texts, a.String())
	}
	return &TwinError{At: strings.Join(texts, " "), KeyFile: h.keyFile}
}

// recognise returns a *TwinError for a failed dial to id, if this host's own identity has answered. It does so too if
// all addresses of id are this host's own, which libp2p does not dial.
func (h *Host) recognise(id peer.ID, err error) error {
	if dial, ok := errors.AsType[*swarm.DialError](err); ok {
		for _, d := range dial.DialErrors {
			if other, is := errors.AsType[sec.ErrPeerIDMismatch](d.Cause); is && other.Actual == h.ID() {
				return h.Twin(d.Address)
			}
		}
	}
	own, theirs := h.Addrs(), h.Peerstore().Addrs(id)
	elsewhere := func(a ma.Multiaddr) bool { return !slices.ContainsFunc(own, a.Equal) }
	if len(theirs) == 0 || slices.ContainsFunc(theirs, elsewhere) {
		return err
	}
	twin := h.Twin(theirs...)
	twin.Own = true
	return twin
}
