package node

import (
	"errors"
	"fmt"
	"time"

	"gossiptrainer/topology"
)

// opJoin is the Op of a peer that does not come into a run.
const opJoin = "join"

// A NetworkError says that this peer could not take part: it found too few
// others, was refused, or lost a neighbour it may not lose.
type NetworkError struct {
	Op  string // what was being done: "join", "link", "listen"
	Err error
}

func (e *NetworkError) Error() string { return fmt.Sprintf("node: %s: %v", e.Op, e.Err) }

// Unwrap returns the cause.
func (e *NetworkError) Unwrap() error { return e.Err }

// A TrainingError says that this worker's own arithmetic failed.
type TrainingError struct {
	Rank  topology.Rank
	Round int // 0, 1, …: the round in which it happened
	Err   error
}

func (e *TrainingError) Error() string {
	return fmt.Sprintf("node: worker %d: round %d: %v", e.Rank, e.Round, e.Err)
}

// Unwrap returns the cause.
func (e *TrainingError) Unwrap() error { return e.Err }

// A StoppedError says that another worker ended the run for all.
type StoppedError struct {
	Rank   topology.Rank // who stopped
	Reason string
}

func (e *StoppedError) Error() string {
	return fmt.Sprintf("node: worker %d stopped the run: %s", e.Rank, e.Reason)
}

// A Reason says why one peer refuses another.
type Reason uint8

// Reasons of a refusal. All but NotReady and Twin are permanent: they hold as
// long as both processes live.
const (
	NotReady Reason = iota // the peer is not there yet, or has this connection already
	Stranger               // the id is not in the roster
	Protocol               // another protocol version, or bytes that are no hello
	OtherRun               // another run id
	OtherSection
	OtherShape // another number of workers or of parameters
	OtherRank  // the roster gives that id another rank
	OtherSecret
	RunFull
	LostState  // a peer came back without the model it had
	Misbehaved // too much of what its process has sent was refused
	Twin       // another process has the same identity
	LeftBehind // the others have gone on without it
	RunOver    // there is no round left to come back to
)

var reasonNames = [...]string{
	NotReady: "not ready", Stranger: "stranger", Protocol: "protocol", OtherRun: "run", OtherSection: "section",
	OtherShape: "shape", OtherRank: "rank", OtherSecret: "join secret", RunFull: "run is full", LostState: "lost state",
	Misbehaved: "misbehaved", Twin: "twin", LeftBehind: "left behind", RunOver: "run is over",
}

// String names the reason in a word or two.
func (r Reason) String() string {
	if int(r) < len(reasonNames) {
		return reasonNames[r]
	}
	return fmt.Sprintf("reason %d", uint8(r))
}

// A RefusedError says that two peers cannot work together, and why. Both ends
// have one, each in its own words.
type RefusedError struct {
	Peer    string // id of the other end
	Host    string // name of its machine, "" before it has proven the secret
	Reason  Reason
	Section string // OtherSection: the first one that differs
	Detail  string // for people
	Advice  string // what to do
	Remote  bool   // the other end said so
}

func (e *RefusedError) Error() string {
	who := "refused peer "
	if e.Remote {
		who = "refused by peer "
	}
	return who + machine(e.Host, e.Peer) + ": " + e.Detail
}

// Hint says what to do, "" if there is nothing to say.
func (e *RefusedError) Hint() string { return e.Advice }

// Permanent reports whether trying again is pointless while both processes live.
func (e *RefusedError) Permanent() bool { return e.Reason != NotReady && e.Reason != Twin }

// aboutPlace reports whether a place in the run is what the refused process lacks:
// under Reweight it may get one.
func (e *RefusedError) aboutPlace() bool { return e.Reason == LostState || e.Reason == LeftBehind }

// twinned is what a process is told whose identity another one has. It may be
// that this one has taken the other's place and the other's end has not been
// noticed yet; so it goes on trying for a while.
func twinned(who string) *RefusedError {
	return &RefusedError{Reason: Twin, Detail: who + " is here already, as another process with the same identity: every peer needs a key of its own"}
}

// A twinTimer tells a process that has a twin from one that comes back before
// its end was noticed. The zero value is ready.
type twinTimer struct{ since time.Time }

// sure takes in how a try to reach somebody ended, and reports whether a twin
// has been in the way for longer than its end would go unnoticed.
func (t *twinTimer) sure(err error, detect time.Duration) bool {
	no, ok := errors.AsType[*RefusedError](err)
	if !ok || no.Reason != Twin || !no.Remote {
		t.since = time.Time{}
		return false
	}
	if t.since.IsZero() {
		t.since = time.Now()
	}
	return time.Since(t.since) > 2*detect
}

// authentic reports whether the refusal is between peers that know the same
// secret; in a roll call nothing else is compared before.
func (e *RefusedError) authentic() bool {
	switch e.Reason {
	case NotReady, Stranger, Protocol, OtherRun, OtherSecret:
		return false
	}
	return true
}
