package sim

import (
	"time"

	layers "gossiptrainer/gossip/peer"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/fault"
	"gossiptrainer/internal/work"
	"gossiptrainer/topology"
)

// Faults are a script of faults for a run, with the policies of the workers. Workers keep checkpoints
// and sent messages in memory, as real ones do on disk.
type Faults struct {
	Script []fault.Fault
	// Revive returns the task of a worker that restarts from the state s, or from the beginning if s is nil. The task
	// is a new one: no result of the killed process is in it.
	Revive func(rank topology.Rank, s *state.Snapshot) (work.Task, error)
	// Lost is the policy of workers that lose neighbours. Join returns the task of a worker that returns under the
	// policy reweight, with the state of its sponsor; nil: none returns.
	Lost layers.Policy
	Join func(rank, sponsor topology.Rank, s *state.Snapshot) (work.Task, error)
	// Began is called when a fault begins; nil: no call.
	Began func(f fault.Fault)
	// Every and Period are the rounds and the virtual time between two checkpoints of a worker; 0: that one sets none.
	// Keep is the number of checkpoints that are kept, ≥ 1.
	Every  int
	Period time.Duration
	Keep   int
	// Detect is the silence after which a worker counts a neighbour as lost.
	Detect time.Duration
}

// Virtual times and sizes without keys in a run file.
const (
	startTime = 300 * time.Millisecond // from the end of a process until the next one calls its neighbours
	retryTime = 100 * time.Millisecond // from the loss of a link until its ends try to make it again
	askTime   = 300 * time.Millisecond // until a worker asks again for a place in the run
	growth    = 16 << 20               // bytes of messages between two checkpoints, at most
)
