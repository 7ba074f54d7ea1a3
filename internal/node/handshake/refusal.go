package handshake

import (
	"cmp"
	"fmt"

	"github.com/libp2p/go-libp2p/core/peer"
)

// A Reason says why one peer refuses another.
type Reason uint8

// Reasons of a refusal. All but NotReady and Duplicate are permanent: they hold as
// long as both processes live.
const (
	NotReady Reason = iota // the peer is not ready yet, or has this connection already
	Stranger               // the id is not in the roster
	Protocol               // another protocol version, or malformed bytes
	OtherRun               // another run id
	OtherSection
	OtherShape // another number of workers or of parameters
	OtherRank  // the roster gives that id another rank
	OtherSecret
	RunFull
	LostState  // a peer came back without its model
	Misbehaved // too many of its messages were refused
	Duplicate  // another process has the same identity
	LeftBehind // the others have gone on without it
	RunOver    // there is no round left to come back to
)

var reasonNames = [...]string{
	NotReady: "not ready", Stranger: "stranger", Protocol: "protocol", OtherRun: "run", OtherSection: "section",
	OtherShape: "shape", OtherRank: "rank", OtherSecret: "join secret", RunFull: "run is full", LostState: "lost state",
	Misbehaved: "misbehaved", Duplicate: "duplicate identity", LeftBehind: "left behind", RunOver: "run is over",
}

// String names the reason in a word or two.
func (r Reason) String() string {
	if int(r) < len(reasonNames) {
		return reasonNames[r]
	}
	return fmt.Sprintf("reason %d", uint8(r))
}

// A RefusedError says why two peers cannot work together. Both ends have one, each from its own side.
type RefusedError struct {
	Peer    string // id of the other end
	Host    string // name of its machine, "" before it has proven the secret
	Reason  Reason
	Section string // OtherSection: the first one that differs
	Detail  string // the difference, for users of this end
	There   string // the same for users of the other end; "" = Detail
	Advice  string // the remedy, for users
	Remote  bool   // the other end said so
}

// Refusal returns a refusal whose Detail is formatted as by fmt.Sprintf.
func Refusal(why Reason, format string, args ...any) *RefusedError {
	return &RefusedError{Reason: why, Detail: fmt.Sprintf(format, args...)}
}

func (e *RefusedError) Error() string {
	who := "refused peer "
	if e.Remote {
		who = "refused by peer "
	}
	return who + MachineName(e.Host, e.Peer) + ": " + e.Detail
}

// Hint returns the remedy, "" without one.
func (e *RefusedError) Hint() string { return e.Advice }

// Permanent reports whether trying again is pointless while both processes live.
func (e *RefusedError) Permanent() bool { return e.Reason != NotReady && e.Reason != Duplicate }

// AboutPlace reports whether the refused process lacks a place in the run. It may get one if workers
// go on without lost neighbours.
func (e *RefusedError) AboutPlace() bool { return e.Reason == LostState || e.Reason == LeftBehind }

// Authentic reports whether both peers of the refusal know the same secret. A roll call compares
// nothing before the secret.
func (e *RefusedError) Authentic() bool {
	switch e.Reason {
	case NotReady, Stranger, Protocol, OtherRun, OtherSecret:
		return false
	}
	return true
}

// maxDetail bounds the text of a refusal, in bytes.
const maxDetail = 256

// refusalMax bounds an encoded refusal: reason u8, section (length u8, 24 bytes), detail.
const refusalMax = 1 + 1 + MaxSectionName + maxDetail

func (e *RefusedError) append(dst []byte) []byte {
	dst = append(dst, byte(e.Reason))
	dst = appendPadded(dst, e.Section[:min(len(e.Section), MaxSectionName)], MaxSectionName)
	told := cmp.Or(e.There, e.Detail)
	return append(dst, told[:min(len(told), maxDetail)]...)
}

// parseRefusal decodes a refusal of this peer.
func parseRefusal(b []byte, from peer.ID) *RefusedError {
	e := &RefusedError{Peer: from.String(), Reason: Protocol, Detail: "malformed refusal", Remote: true}
	if len(b) < 1+1+MaxSectionName || len(b) > refusalMax {
		return e
	}
	section, detail, ok := takePadded(b[1:], MaxSectionName)
	if !ok {
		return e
	}
	e.Reason, e.Section, e.Detail = Reason(b[0]), Printable(section), Printable(string(detail))
	return e
}

// An UnwantedError says why a peer gives up: no other one works with it. Advice is the remedy.
type UnwantedError struct{ Detail, Advice string }

func (e *UnwantedError) Error() string { return e.Detail }

// Hint returns the remedy, "" without one.
func (e *UnwantedError) Hint() string { return e.Advice }
