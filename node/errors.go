package node

import (
	"errors"
	"fmt"

	"gossiptrainer/node/handshake"
	"gossiptrainer/node/identity"
	"gossiptrainer/topology"
)

// opJoin is the Op of a peer that fails to join a run.
const opJoin = "join"

// A NetworkError says that this peer could not take part: it found too few peers, was refused, or lost
// a neighbour that it needs.
type NetworkError struct {
	Op  string // the operation that failed: "join", "link", "start"
	Err error
}

func (e *NetworkError) Error() string { return fmt.Sprintf("node: %s: %v", e.Op, e.Err) }

// Unwrap returns the cause.
func (e *NetworkError) Unwrap() error { return e.Err }

// A TrainingError says that this worker's own arithmetic failed.
type TrainingError struct {
	Rank  topology.Rank
	Round int // the round that failed, from 0
	Err   error
}

func (e *TrainingError) Error() string {
	return fmt.Sprintf("node: worker %d: round %d: %v", e.Rank, e.Round, e.Err)
}

// Unwrap returns the cause.
func (e *TrainingError) Unwrap() error { return e.Err }

// A RepeatError says that a worker went back to a checkpoint, but does not do the rounds since then as it did them
// before. Its neighbours cannot help it any further.
type RepeatError struct {
	Rank  topology.Rank
	From  int           // the round of the checkpoint
	Round int           // the round that it cannot end
	Peer  topology.Rank // whose message it cannot use
}

func (e *RepeatError) Error() string {
	return fmt.Sprintf("node: worker %d: it repeats the rounds from %d on, but not as it did them before: "+
		"in round %d it needs a repair of the message of worker %d, and it needed none then",
		e.Rank, e.From, e.Round, e.Peer)
}

// Hint says what to do.
func (e *RepeatError) Hint() string {
	return "no worker can go on from these checkpoints: start again without --resume. A script repeats its rounds if " +
		"its checkpoints hold all that changes: name it in peer.state, and call peer.boundary() at the top of its loop"
}

// A RefusedError says that two peers cannot work together, and why. The other one has proven the join secret.
type RefusedError = handshake.RefusedError

// An UnprovenError says that two peers have parted before the other one had proven the join secret.
type UnprovenError = handshake.UnprovenError

// A StoppedError says that another worker ended the run for all.
type StoppedError = handshake.StoppedError

// Reasons of a refusal, see package handshake. All but NotReady and Duplicate are permanent.
const (
	NotReady     = handshake.NotReady
	Stranger     = handshake.Stranger
	Protocol     = handshake.Protocol
	OtherRun     = handshake.OtherRun
	OtherSection = handshake.OtherSection
	OtherShape   = handshake.OtherShape
	OtherRank    = handshake.OtherRank
	OtherSecret  = handshake.OtherSecret
	RunFull      = handshake.RunFull
	LostState    = handshake.LostState
	Misbehaved   = handshake.Misbehaved
	Duplicate    = handshake.Duplicate
	LeftBehind   = handshake.LeftBehind
	RunOver      = handshake.RunOver
)

// ErrLeftBehind ends Run, under Reweight, in a process that has started again and learns that the run
// has gone on without its worker. ComeBack then asks for a place.
var ErrLeftBehind = errors.New("the run has gone on without this worker")

func leftBehind(why error) error {
	return &NetworkError{Op: opJoin, Err: fmt.Errorf("%w: %w", ErrLeftBehind, why)}
}

// checkSecurity checks the encryption of the links and the join secret.
func (o *Options) checkSecurity() error {
	switch {
	case o.Security != "" && o.Security != TLS && o.Security != Noise && o.Security != None:
		return fmt.Errorf("node: security %q: want %q, %q or %q", o.Security, TLS, Noise, None)
	case o.Security == None && o.Transport == QUIC:
		return errors.New("node: quic is always encrypted: choose transport tcp for security none")
	case len(o.Trusted) > 0 && o.Security != None:
		return fmt.Errorf("node: trusted %v: has a meaning for security %q alone", o.Trusted, None)
	}
	if weak, ok := errors.AsType[*identity.WeakError](identity.CheckSecret(o.JoinSecret)); ok && o.JoinSecret != "" {
		return fmt.Errorf("node: join secret: %w: %s", weak, weak.Hint())
	}
	return nil
}
