package checkpoints

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/node"
	"gossiptrainer/internal/train"
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

// startFile holds the vector at round 0 of an external model. A worker that dies before its first checkpoint begins
// there again, when no other worker has the vector any more.
const startFile = "start.safetensors"

// keepStart writes the vector at round 0.
func (s *Store) keepStart(run *experiment.Run, p Program) error {
	return train.Write(filepath.Join(s.dir, startFile), train.Saved{X: p.Start(), Layout: run.Layout()})
}

// startVector returns the vector at round 0, nil if none is kept.
func (s *Store) startVector() ([]float32, error) {
	if cfg := s.run.Config(); !cfg.External() {
		return nil, nil
	}
	saved, err := train.Read(filepath.Join(s.dir, startFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return saved.X, err
}

// blobTensor is the name of the script's state in a checkpoint.
const blobTensor = "script/state"

// blobOf returns the state of the script in a checkpoint, nil if there is none.
func blobOf(s *state.Snapshot) []byte {
	at := slices.IndexFunc(s.Tensors, func(t state.Tensor) bool { return t.Name == blobTensor })
	if at < 0 {
		return nil
	}
	return s.Tensors[at].Data
}

// keepScript adds the script's state to the checkpoints. The script gives it before it trains in that round, so none
// follows after the last round.
func keepScript(kept *node.Checkpoints, p Program, taken *state.Snapshot) {
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
		if k == 0 || final {
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
