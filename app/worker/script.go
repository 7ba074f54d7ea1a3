package worker

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"gossiptrainer/app/script"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/bridge"
	"gossiptrainer/internal/checkpoint"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/train"
	"gossiptrainer/node"
)

// A Program is the user's script that trains the worker. Its state belongs to each checkpoint.
type Program interface {
	// Start returns the vector at round 0.
	Start() []float32
	// SaveBefore asks the script for its state before round k, which State waits for.
	SaveBefore(k int)
	State(k int) (script.State, error)
	// Cost is how long the last state has kept the script from training.
	Cost() time.Duration
	// AtEnd has keep called with the state after the last round, for which SaveBefore has asked.
	AtEnd(keep func(blob []byte) error)
}

// startFile holds the vector at round 0 of an external model. A worker that dies before its first checkpoint begins
// there again, when no other worker has the vector any more.
const startFile = "start.safetensors"

// keepStart writes the vector at round 0.
func (s *Store) keepStart(run *experiment.Run, p Program) error {
	return train.Write(filepath.Join(s.dir, startFile), train.Saved{X: p.Start(), Layout: run.Files().Layout()})
}

// StartVector returns the vector at round 0, nil if none is kept.
func (s *Store) StartVector() ([]float32, error) {
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

// endedTensor is the name of what a checkpoint holds of a script that takes no further step.
const endedTensor = "script/ended"

// bytesOf returns what a tensor of the script holds in a checkpoint, nil if there is none.
func bytesOf(s *state.Snapshot, name string) []byte {
	at := slices.IndexFunc(s.Tensors, func(t state.Tensor) bool { return t.Name == name })
	if at < 0 {
		return nil
	}
	return s.Tensors[at].Data
}

// endFolder holds the state of the script after the last round, as a checkpoint that has nothing else. The script gives
// it when it has left its loop. The checkpoint of the worker is written before, so that its neighbours may go.
const endFolder = "script"

// blobAt returns the state of the script in a checkpoint, or after the last round. It is nil if there is none.
func (s *Store) blobAt(found *checkpoint.Found) []byte {
	if blob := bytesOf(found.State, blobTensor); blob != nil {
		return blob
	}
	end, err := checkpoint.Latest(filepath.Join(s.dir, endFolder))
	if err != nil || end.Round != found.Round {
		return nil
	}
	return bytesOf(end.State, blobTensor)
}

// keepScript adds the script's state to the checkpoints. The script gives it before it trains in that round. After the
// last round the state follows later.
func (s *Store) keepScript(kept *node.Checkpoints, p Program, taken *state.Snapshot) {
	take, write, final := kept.Take, kept.Write, false
	holding := func(blob []byte) state.Tensor { return state.Tensor{Name: blobTensor, Type: "U8", Data: blob} }
	kept.Take = func(k int) {
		take(k)
		p.SaveBefore(k)
	}
	kept.Last = func(k int) {
		take(k)
		final = true
		p.SaveBefore(k)
		p.AtEnd(func(blob []byte) error {
			end := state.Snapshot{Tensors: []state.Tensor{holding(blob)}}
			return s.explain(checkpoint.Write(filepath.Join(s.dir, endFolder), s.manifest(k), &end, 1), end.Bytes())
		})
	}
	kept.Cost, kept.Patience = p.Cost, bridge.LastStep
	kept.Write = func(k int) error {
		if k == 0 || final {
			return write(k)
		}
		s, err := p.State(k)
		if err != nil {
			return fmt.Errorf("the state of the script: %w", err)
		}
		if s.Ended != nil {
			taken.Tensors = append(taken.Tensors, state.Tensor{Name: endedTensor, Type: "U8", Data: s.Ended})
		} else {
			taken.Tensors = append(taken.Tensors, holding(s.Blob))
		}
		return write(k)
	}
}
