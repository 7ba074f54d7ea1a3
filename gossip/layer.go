package gossip

import (
	"errors"
	"time"

	"gossiptrainer/topology"
)

// A Layer is a machine that also learns of links and of time. Linked makes a Layer of a Machine. The layers that handle
// dying peers wrap it one by one: each is a Layer around a Layer, and knows neither socket nor clock.
//
// A driver calls Ready after every other call, obeys Control, sends Send, and calls Ready again as long as it asks for
// More. An error of a call ends the worker, except for the reasons of Receive and *algos.MessageError.
type Layer interface {
	Core
	// Met reports a new link to peer. The driver must have dropped all frames for the last one before.
	Met(peer topology.Rank, m Meeting) error
	// Parted reports that the link to peer has ended, or that there will be none. The cause is ErrBye, ErrRest, ErrGone, a
	// *RefusedError or ErrForged; any other error means a lost link.
	Parted(peer topology.Rank, cause error) error
	// Tick reports the time since the run began.
	Tick(now time.Duration) error
	// Saved reports that the worker never returns to a state older than its checkpoint of a round. All frames sent
	// before that round must have been handed over before.
	Saved(round int) error
}

// A Meeting holds the facts that two ends tell each other in the handshake. Places count finished exchanges, see Slots.
type Meeting struct {
	Theirs, Ours int    // places
	Durable      int    // the place of the peer's oldest checkpoint; Undurable without one
	Kept         int    // the place of this worker's oldest checkpoint, as it told the peer
	Process      uint64 // names the peer's process
	Renewed      bool   // the process is not the one of the last link
}

// Undurable stands for the place of the checkpoint of a worker that keeps none. Such a worker does not return after its
// process has ended.
const Undurable = -1

// ErrBye is the cause when a link has ended after both ends have said Bye.
var ErrBye = errors.New("both ends have said bye")

// ErrRest is the cause when a link has ended because neither end needs it now. No frame is missing.
var ErrRest = errors.New("neither end needs the link now")

// ErrGone is the cause when a worker without shared rounds gives up a neighbour that is gone and never says bye.
var ErrGone = errors.New("gone without a bye")

// ErrForged is in the error of a link that ended because of data that no honest worker sends.
var ErrForged = errors.New("no honest worker sends that")

// A RefusedError says that one of two ends wants no link with the other as long as both processes live.
type RefusedError struct {
	Remote bool  // the other end has refused this one
	Place  bool  // because one of the two has lost its place in the run
	Err    error // the reason of the refusal
}

func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap returns the reason of the refusal.
func (e *RefusedError) Unwrap() error { return e.Err }

// Ended reports whether the cause of Parted means that no link was lost. Then both ends have said Bye, or
// neither needs the link now, or one end refuses the link, or the link was lost before.
func Ended(cause error) bool {
	_, refused := errors.AsType[*RefusedError](cause)
	return refused || errors.Is(cause, ErrBye) || errors.Is(cause, ErrRest) || errors.Is(cause, ErrGone)
}

// A Repairer counts messages that were recovered wrongly.
type Repairer interface {
	Repairs() Repairs
}

// RepairsOf returns a function that counts the repairs of m; its counts are 0 if m is no Repairer.
func RepairsOf(m Machine) func() Repairs {
	if r, ok := m.(Repairer); ok {
		return r.Repairs
	}
	return func() Repairs { return Repairs{} }
}
