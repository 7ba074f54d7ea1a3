package sim

import (
	"fmt"

	"gossiptrainer/topology"
)

// A TrainingError says that the arithmetic of a worker failed: its gradient,
// or what its machine does with models and messages.
type TrainingError struct {
	Rank  topology.Rank
	Round int // 0, 1, …: the round in which it happened
	Err   error
}

func (e *TrainingError) Error() string {
	return fmt.Sprintf("sim: worker %d round %d: %v", e.Rank, e.Round, e.Err)
}

// Unwrap returns the cause.
func (e *TrainingError) Unwrap() error { return e.Err }
