package checkpoints

import (
	"errors"
	"fmt"
	"math"
	"time"

	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/node"
	"gossiptrainer/internal/vec"
)

// A Program is the user's script that trains the worker. Its state belongs to each checkpoint.
type Program interface {
	// Start returns the vector at round 0.
	Start() []float32
	// SaveBefore asks the script for its state before round k, which State waits for.
	SaveBefore(k int)
	State(k int) ([]byte, error)
	// Cost is how long the last state has kept the script from training.
	Cost() time.Duration
}

// A Script is the part of a checkpoint that belongs to the user's script.
type Script struct {
	Start []float32 // the vector at round 0; nil where the checkpoint is of a later round
	Blob  []byte    // its state; nil: none
}

// Names of the tensors of a script in a checkpoint.
const (
	startTensor = "script/start"
	blobTensor  = "script/state"
)

// scriptOf takes the script's part out of a checkpoint.
func scriptOf(s *state.Snapshot) (Script, error) {
	var found Script
	if s == nil {
		return found, nil
	}
	for _, t := range s.Tensors {
		switch t.Name {
		case startTensor:
			if t.Type != "F32" || !(vec.MaxAbsLE(t.Data) <= math.MaxFloat32) {
				return found, &state.Error{Name: t.Name, Err: errors.New("must be finite floats")}
			}
			found.Start = make([]float32, len(t.Data)/4)
			vec.ReadLE(found.Start, t.Data)
		case blobTensor:
			found.Blob = t.Data
		}
	}
	return found, nil
}

// keepScript adds the script's part to the checkpoints. The script gives its state before it trains in that round, so
// none follows after the last round.
func (s *Store) keepScript(kept *node.Checkpoints, p Program, taken *state.Snapshot) {
	take, write, final := kept.Take, kept.Write, false
	kept.Take = func(k int) {
		take(k)
		p.SaveBefore(k)
	}
	kept.Last = func(k int) {
		take(k)
		final = true
	}
	kept.Cost = p.Cost
	kept.Write = func(k int) error {
		switch {
		case k == 0:
			start := state.Tensor{Name: startTensor, Type: "F32", Data: vec.AppendLE(nil, p.Start())}
			return s.write(0, &state.Snapshot{Tensors: []state.Tensor{start}})
		case final:
			return write(k)
		}
		blob, err := p.State(k)
		if err != nil {
			return fmt.Errorf("the state of the script: %w", err)
		}
		if len(blob) > 0 {
			taken.Tensors = append(taken.Tensors, state.Tensor{Name: blobTensor, Type: "U8", Data: blob})
		}
		return write(k)
	}
}
