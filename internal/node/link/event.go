package link

import (
	"errors"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/internal/node/handshake"
	"gossiptrainer/internal/wire"
	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/topology"
)

// An EventKind tells events apart.
type EventKind int

// Kinds of events.
const (
	Up       EventKind = iota // a link was made; frames that the last one held are lost
	Down                      // a link was lost, see Err; gossip.ErrForged if its other end is to blame
	FrameIn                   // Frame came in, of any kind but gossip.Bye
	PeerDone                  // both ends have said Bye
	Refused                   // one end refused the other, see Err (*handshake.RefusedError)
	Stopped                   // the neighbour says that the run is over early, see Err (*handshake.StoppedError)
)

// An Event is what happens on the link to Peer.
type Event struct {
	Kind  EventKind
	Peer  topology.Rank
	Frame gossip.Frame   // FrameIn; the receiver owns the payload until Recycle
	Met   gossip.Meeting // Up
	Err   error
}

var (
	errEpoch  = errors.New("frame of another life of this peer")
	errNoBye  = errors.New("the neighbour closed the link without a bye")
	errCutOff = errors.New("frame is cut off")
	errLeft   = errors.New("this worker has gone on without that one")
)

// reasons names why a frame is not used, in the words of the counters.
var reasons = []struct {
	err  error
	name string
}{
	{algos.ErrAbsurd, "absurd"},
	{gossip.ErrStale, "stale"},
	{gossip.ErrDuplicate, "duplicate"},
	{gossip.ErrEarly, "early"},
	{gossip.ErrStranger, "stranger"},
	{gossip.ErrNoSuchHop, "no such hop"},
	{gossip.ErrUnasked, "unasked"},
	{wire.ErrVersion, "version"},
	{wire.ErrKind, "kind"},
	{wire.ErrCoder, "coder"},
	{entropy.ErrCoded, "coding"},
	{wire.ErrRange, "out of range"},
	{wire.ErrTooLong, "too long"},
	{wire.ErrChecksum, "checksum"},
	{errEpoch, "epoch"},
	{errCutOff, "truncated"},
	{handshake.ErrStop, "stop"},
}

// Reason returns in a word or two why a frame was not used, by a link or by a machine.
func Reason(err error) string {
	for _, known := range reasons {
		if errors.Is(err, known.err) {
			return known.name
		}
	}
	if _, bad := errors.AsType[*algos.MessageError](err); bad {
		return "unusable"
	}
	return "other"
}

// forgeries are the errors that only the other end of a link can cause.
var forgeries = []error{
	wire.ErrVersion, wire.ErrKind, wire.ErrCoder, wire.ErrRange, wire.ErrTooLong, wire.ErrChecksum,
	entropy.ErrCoded, errEpoch, handshake.ErrStop,
}

// A forgedError is the error of a link that ended because of a frame that no worker sends.
type forgedError struct{ error }

// Unwrap returns the cause.
func (e forgedError) Unwrap() error { return e.error }

// Is reports that the error is gossip.ErrForged, too.
func (e forgedError) Is(target error) bool { return target == gossip.ErrForged }

// judged returns the error of a link that has ended. It is gossip.ErrForged if the other end caused it.
func judged(err error) error {
	for _, forgery := range forgeries {
		if errors.Is(err, forgery) {
			return forgedError{err}
		}
	}
	return err
}
