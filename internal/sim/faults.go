package sim

import (
	"time"

	layers "gossiptrainer/gossip/peer"
	"gossiptrainer/internal/fault"
	"gossiptrainer/internal/state"
	"gossiptrainer/internal/work"
	"gossiptrainer/topology"
)

// Faults are a script that is played while a run goes on, and what workers do to get over
// it: they keep checkpoints and what they have sent in memory, as real ones do on disk.
type Faults struct {
	Script []fault.Fault
	// Revive returns the task of a worker that comes back at the state s, made anew; nil
	// is the beginning of the run. What its last life has computed is of no use to it.
	Revive func(rank topology.Rank, s *state.Snapshot) (work.Task, error)
	// Lost says what workers do that lose neighbours, and Join returns the task of one that
	// comes back under Reweight, with the state of its sponsor; nil: none does.
	Lost layers.Policy
	Join func(rank, sponsor topology.Rank, s *state.Snapshot) (work.Task, error)
	// Began hears of each fault as it begins; nil = nobody does.
	Began func(f fault.Fault)
	// Every and Period are how many rounds and how much virtual time pass between two
	// checkpoints of a worker, each 0 for any; Keep is how many are kept, ≥ 1.
	Every  int
	Period time.Duration
	Keep   int
	// Detect is the silence after which a neighbour is lost.
	Detect time.Duration
}

// Virtual times that nothing in a run file says.
const (
	startTime = 300 * time.Millisecond // from the end of a process until the next one calls its neighbours
	retryTime = 100 * time.Millisecond // until the ends of a link that was lost try to make it again
	askTime   = 300 * time.Millisecond // until a worker without a place asks again for one
	growth    = 16 << 20               // bytes of messages from one checkpoint to the next, at most
)

// An Effect is what came of one fault.
type Effect struct {
	fault.Fault
	At        time.Duration // when it began
	Over      time.Duration // when the peer was started again, or the fault has ended
	Noticed   time.Duration // from At until a worker that is not struck lost a link because of it; −1: none did
	Recovered time.Duration // from Over until all workers have finished another round; −1: that was not seen
	Again     int           // rounds that a peer which was killed did once more
}

// strikes reports whether a worker is itself part of what a fault touches: how it notices
// is not how others do.
func (e *Effect) strikes(rank topology.Rank) bool {
	return (e.Kind == fault.Kill || e.Kind == fault.Hang) && e.Peers[0] == rank
}

// touches reports whether a link can be lost by a fault.
func (e *Effect) touches(i, j topology.Rank) bool {
	if e.Kind == fault.Kill || e.Kind == fault.Hang {
		return e.Peers[0] == i || e.Peers[0] == j
	}
	return e.Parts(i, j)
}
