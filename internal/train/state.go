package train

import (
	"strings"

	"gossiptrainer/internal/safetensors"
	"gossiptrainer/model"
)

// parameters is the flat vector of parameters in the state of a worker, see docs/format/checkpoints.md.
const parameters = "machine/x"

// A StateError says that a file holds the state of a run, or nothing, in place of a model.
type StateError struct{ Holds string }

func (e *StateError) Error() string { return "it holds " + e.Holds + ", not a model" }

// Hint says which file to take.
func (e *StateError) Hint() string {
	return "take model.safetensors or peer-<rank>.safetensors of the run folder"
}

// stateOf returns what a file holds in place of a model, nil for a model.
func stateOf(h safetensors.Header) *StateError {
	if len(h.Tensors) == 0 && len(h.Metadata) == 0 {
		return &StateError{"no tensors, like the checkpoint before round 0"}
	}
	for _, t := range h.Tensors {
		switch {
		case strings.HasPrefix(t.Name, "machine/"):
			return &StateError{"the state of a worker"}
		case t.Name == "simulation" && t.Type == "U8":
			return &StateError{"the state of a simulation with all its workers"}
		case t.Name == "script/state" && t.Type == "U8":
			return &StateError{"the state of a script"}
		}
	}
	return nil
}

// choose returns what Decode keeps of a file, without its numbers, and reports for each tensor whether it does. Of the
// state of a worker that is the vector of parameters.
func choose(h safetensors.Header) (Saved, func(safetensors.Tensor) bool, error) {
	for _, t := range h.Tensors {
		if t.Name != parameters || t.Type != "F32" {
			continue
		}
		s := Saved{Flat: true, Layout: []model.Param{{Name: t.Name, Shape: t.Shape}}}
		return s, func(t safetensors.Tensor) bool { return t.Name == parameters }, nil
	}
	if err := stateOf(h); err != nil {
		return Saved{}, nil, err
	}
	layout, err := layoutOf(h)
	return Saved{Metadata: h.Metadata, Layout: layout}, func(t safetensors.Tensor) bool { return !counts(t) }, err
}
