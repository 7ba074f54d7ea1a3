package gossip

import (
	"errors"
	"time"

	"gossiptrainer/topology"
)

// A Layer is a machine that is told of links and of time as they are. Linked makes one of a
// Machine; what a run needs when peers die is wrapped around it, layer by layer: each
// is a Layer around a Layer, and knows neither socket nor clock.
//
// A driver calls Ready after every other call, obeys Control, sends Send, and calls Ready
// again as long as it asks for More. An error of a call is the end of the worker, but for
// the reasons of Receive and for *algos.MessageError.
type Layer interface {
	Core
	// Met reports a new link to peer. By then the driver has let go of all frames
	// meant for the last one.
	Met(peer topology.Rank, m Meeting) error
	// Parted reports that the link to peer has ended, or that none will be made, and
	// why: ErrBye, ErrGone, *RefusedError, ErrForged, or anything else for one that
	// was lost.
	Parted(peer topology.Rank, cause error) error
	// Tick reports how late it is, since the run began.
	Tick(now time.Duration) error
	// Saved reports that the worker will come back to nothing older than its checkpoint
	// of a round. All that was sent before that round has been handed over by then.
	Saved(round int) error
}

// A Meeting is what two ends have told each other before their link came up. Places are in
// exchanges finished, see Slots.
type Meeting struct {
	Theirs, Ours int    // places
	Durable      int    // the place of their oldest checkpoint; Undurable without one
	Kept         int    // the same of ours, as they were told
	Process      uint64 // names their process
	Renewed      bool   // it is another one than on the last link
}

// Undurable stands for the place of a checkpoint of a worker that keeps none: after the end
// of its process it does not come back.
const Undurable = -1

// ErrBye is why a link has ended of which both ends have said Bye.
var ErrBye = errors.New("both ends have said bye")

// ErrGone is why there is no link to a neighbour without whose last word a worker ends that
// waits for nobody.
var ErrGone = errors.New("gone without a word")

// ErrForged is in the error of a link that ended because of what came over it: no
// worker says that.
var ErrForged = errors.New("no worker says that")

// A RefusedError says that one of two ends wants no link with the other for as long as both
// processes live.
type RefusedError struct {
	Remote bool  // the other end has refused this one
	Place  bool  // because this worker, or that one, has no place in the run any more
	Err    error // in words
}

func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap returns the refusal in words.
func (e *RefusedError) Unwrap() error { return e.Err }

// Ended reports whether the cause of Parted says that no link was lost: there is none
// because both ends have said Bye, because one of them wants none, or because it was
// lost before.
func Ended(cause error) bool {
	_, refused := errors.AsType[*RefusedError](cause)
	return refused || errors.Is(cause, ErrBye) || errors.Is(cause, ErrGone)
}

// A Numbered machine has exchanges that all workers count alike.
type Numbered interface {
	Slots() Slots
}

// A Repairer counts messages that were recovered wrongly.
type Repairer interface {
	Repairs() Repairs
}

// RepairsOf returns what counts the repairs of m; a machine that is no Repairer has none.
func RepairsOf(m Machine) func() Repairs {
	if r, ok := m.(Repairer); ok {
		return r.Repairs
	}
	return func() Repairs { return Repairs{} }
}
