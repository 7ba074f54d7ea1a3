package experiment

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"gossiptrainer/configs"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/train"
	"gossiptrainer/internal/work"
	"gossiptrainer/model"
)

// The program of an external model takes the local steps: from x it goes to some y, with whatever optimizer it has.
// Algorithms get g = x − y as the update direction and have the step size 1, so they do with the update y − x what they
// do with −α_k times a gradient.

// A Program is what a worker of an external model needs of its program.
type Program struct {
	// Start is x_0, of the length of the outline; the worker keeps it. Nil where the worker begins from a saved state.
	Start []float32
	// Gradient writes g = x − y. It returns the loss that the program has told last, 0 before any.
	Gradient work.Gradient
}

// Programmed returns a copy of r whose methods Worker, Resume and Join build the worker of an external model that p
// trains, in a process of its own. The run needs an outline. The saved state of the worker holds nothing of the program.
// Worker.Evaluate is nil, and the loss and accuracy of a result are left to the caller.
func (r *Run) Programmed(p Program) *Run {
	programmed := *r // a run does not change, so both may share it
	programmed.program = &p
	return &programmed
}

// CheckInside returns an error at its key if the model is external. Callers that compute gradients in this process need
// another one.
func (r *Run) CheckInside() error {
	if !r.cfg.External() {
		return nil
	}
	return configs.Errorf("model.name", "a program trains an external model, in a process per worker: "+
		"peer lab or peer run starts them, and a comparison in mode lab; for this command take another model")
}

// external builds the worker of a program. It starts where the program does, or from the saved state s.
func (b *builder) external(s *state.Snapshot) (*Worker, error) {
	if b.program == nil {
		return nil, b.CheckInside()
	}
	x := b.program.Start
	switch {
	case b.dim == 0:
		return nil, errors.New("internal error: experiment: an external model without an outline")
	case x == nil && s != nil:
		x = make([]float32, b.dim)
	case len(x) != b.dim:
		return nil, fmt.Errorf("the program starts with %d elements, but its tensors have %d", len(x), b.dim)
	}
	oracle, err := train.NewExternal(int(b.rank), train.Gradient(b.program.Gradient),
		train.Rule{Bound: b.bound, Exact: b.exact})
	if err != nil {
		return nil, err
	}
	return b.trained(x, oracle, s)
}

// scriptSection returns the settings on which the programs of all peers must agree.
func scriptSection(o *model.Outline) configs.Section {
	text, err := json.Marshal(struct {
		Elements int    `json:"elements"`
		Hash     string `json:"hash"`
	}{o.Dim(), o.Hash()})
	if err != nil {
		panic("internal error: experiment: " + err.Error()) // a number and a text
	}
	return configs.Section{Name: "script", JSON: text, Hash: sha256.Sum256(text)}
}
