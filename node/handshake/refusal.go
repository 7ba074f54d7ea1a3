package handshake

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"

	"github.com/libp2p/go-libp2p/core/peer"

	"gossiptrainer/node/socket"
)

// A Reason says why one peer refuses another.
type Reason uint8

// Reasons of a refusal. All but NotReady, Duplicate and OtherLineage are permanent: they hold as long as both processes
// live, and mean that something is wrong.
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
	LostState    // a peer came back without its model
	Misbehaved   // too many of its messages were refused
	Duplicate    // another process has the same identity
	LeftBehind   // the others have gone on without it
	RunOver      // there is no round left to come back to
	OtherLineage // of another run of this name, which may go on beside this one
)

var reasonNames = [...]string{
	NotReady: "not ready", Stranger: "stranger", Protocol: "protocol", OtherRun: "run", OtherSection: "section",
	OtherShape: "shape", OtherRank: "rank", OtherSecret: "join secret", RunFull: "run is full", LostState: "lost state",
	Misbehaved: "misbehaved", Duplicate: "duplicate identity", LeftBehind: "left behind", RunOver: "run is over",
	OtherLineage: "lineage",
}

// String names the reason in a word or two.
func (r Reason) String() string {
	if int(r) < len(reasonNames) {
		return reasonNames[r]
	}
	return fmt.Sprintf("reason %d", uint8(r))
}

// A RefusedError says why two peers of a run cannot work together. Both ends have one, each from its own side. A Talk
// returns one only if the other end has proven the secret on that stream; before, it returns an *UnprovenError.
type RefusedError struct {
	Peer    string // id of the other end
	Host    string // name of its machine, "" before its hello
	Reason  Reason
	Section string // OtherSection: the first one that differs
	Detail  string // the difference, for users of this end
	There   string // the same for users of the other end; "" = Detail
	Advice  string // the fix, for users
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

// Hint returns the fix, "" without one.
func (e *RefusedError) Hint() string { return e.Advice }

// Permanent reports whether trying again is pointless while both processes live, and the run needs that peer.
func (e *RefusedError) Permanent() bool {
	return e.Reason != NotReady && e.Reason != Duplicate && e.Reason != OtherLineage
}

// AboutPlace reports whether the refused process lacks a place in the run. It may get one if workers
// go on without lost neighbours.
func (e *RefusedError) AboutPlace() bool { return e.Reason == LostState || e.Reason == LeftBehind }

// An UnprovenError says why two peers have parted before the other end had proven the secret. Anybody who reaches a
// port can cause one, with any reason. So it is a hint for users, and must not end a worker.
type UnprovenError struct {
	Peer   string // id of the other end
	Reason Reason // Remote: as the other end claims
	Detail string // in the words of this end
	Advice string // the fix for an honest mistake, for users
	Remote bool   // the other end said so
}

func (e *UnprovenError) Error() string { return "no proof from peer " + e.Peer + ": " + e.Detail }

// Hint returns the fix, "" without one.
func (e *UnprovenError) Hint() string { return e.Advice }

// Counter names the counter of such refusals. Claims share one, since a stranger may claim any reason.
func (e *UnprovenError) Counter() string {
	if e.Remote {
		return "unproven refusal"
	}
	return "refused " + e.Reason.String()
}

// claimed returns the error for the refusal of a peer that has proven nothing. It repeats no word of that peer.
func claimed(no *RefusedError) *UnprovenError {
	return &UnprovenError{
		Peer: no.Peer, Reason: no.Reason, Remote: true,
		Detail: fmt.Sprintf("it refuses (%s) without having proven the join secret", no.Reason),
	}
}

// Lasting reports whether trying again is pointless while both processes live. An end that has proven nothing may be a
// stranger with the key of a peer, who keeps a connection while the peer itself comes.
func Lasting(err error) bool {
	no, ok := errors.AsType[*RefusedError](err)
	return ok && no.Permanent()
}

// Tell counts the refusal in err, if it has one, and logs it with message. Of refusals without proof it logs one per
// reason, since strangers could otherwise fill the log.
func Tell(refused *socket.Refusals, log *slog.Logger, message string, err error, args ...any) {
	if no, ok := errors.AsType[*RefusedError](err); ok {
		refused.Tell(log, message, "refused "+no.Reason.String(), append([]any{"why", no}, args...)...)
		return
	}
	if no, ok := errors.AsType[*UnprovenError](err); ok {
		args = append([]any{"why", no.Detail, "who", no.Peer}, args...)
		if no.Advice != "" {
			args = append(args, "hint", no.Advice)
		}
		refused.TellOnce(log, "a peer has not proven that it belongs to this run", no.Counter(), args...)
	}
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

// An UnwantedError says why a peer gives up: no other one works with it. Advice is the fix.
type UnwantedError struct{ Detail, Advice string }

func (e *UnwantedError) Error() string { return e.Detail }

// Hint returns the fix, "" without one.
func (e *UnwantedError) Hint() string { return e.Advice }
