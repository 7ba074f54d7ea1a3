package sim

import (
	"fmt"

	"gossiptrainer/topology"
)

// A TrainingError says that the arithmetic of a worker failed: its gradient, or the mixing of models and messages.
type TrainingError struct {
	Rank  topology.Rank
	Round int // in which it happened, from 0
	Err   error
}

func (e *TrainingError) Error() string {
	return fmt.Sprintf("sim: worker %d round %d: %v", e.Rank, e.Round, e.Err)
}

// Unwrap returns the cause.
func (e *TrainingError) Unwrap() error { return e.Err }
