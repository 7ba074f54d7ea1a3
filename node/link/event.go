package link

import (
	"errors"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/internal/wire"
	"gossiptrainer/internal/wire/entropy"
	"gossiptrainer/node/handshake"
	"gossiptrainer/topology"
)

// An EventKind is the kind of an Event.
type EventKind int

// Kinds of events.
const (
	Up       EventKind = iota // there is a link; frames of the last one are lost
	Down                      // the link is lost, see Err; gossip.ErrForged if its other end is to blame
	FrameIn                   // Frame came in, of any kind but gossip.Bye
	PeerDone                  // both ends have sent Bye
	Refused                   // one end refused the other, see Err (*handshake.RefusedError)
	Rested                    // the link has ended because neither end needs it now; no frame is missing
	Stopped                   // the neighbour has stopped the run, see Err (*handshake.StoppedError)
)

// An Event happens on the link to Peer.
type Event struct {
	Kind  EventKind
	Peer  topology.Rank
	Frame gossip.Frame   // FrameIn; the receiver owns the payload until Recycle
	Met   gossip.Meeting // Up
	Err   error
}

var (
	errEpoch   = errors.New("frame of another process of this peer")
	errNoBye   = errors.New("the neighbour closed the link without a bye")
	errCutOff  = errors.New("frame is cut off")
	errNewLink = errors.New("the neighbour has made a new link")
	errLeft    = errors.New("this worker has gone on without this neighbour")
)

// reasons names the counters of refused frames by their errors.
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
	{gossip.ErrNoSuchEdge, "no such edge"},
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

// Reason returns the name of the counter for a frame that a link or a machine refused with err.
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

// A forgedError is the error of a link that ended because of a frame that no honest worker sends.
type forgedError struct{ error }

// Unwrap returns the cause.
func (e forgedError) Unwrap() error { return e.error }

// Is reports that the error is gossip.ErrForged as well.
func (e forgedError) Is(target error) bool { return target == gossip.ErrForged }

// judged returns the error of an ended link, which is gossip.ErrForged if the other end caused it.
func judged(err error) error {
	for _, forgery := range forgeries {
		if errors.Is(err, forgery) {
			return forgedError{err}
		}
	}
	return err
}
