package experiment

import (
	"errors"
	"fmt"

	"gossiptrainer/configs"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/train"
)

// The script of an external model takes the local steps: from x it goes to some y, with whatever optimizer it has.
// Algorithms get g = x − y as the update direction and have the step size 1. So the update y − x takes the place of
// −α_k times a gradient.

// Programmed returns a copy of r whose methods Worker, Resume and Join build the worker of an external model that p
// trains, in a process of its own. The run needs an outline. The saved state of the worker holds nothing of the
// program. Worker.Evaluate is nil, and the loss and accuracy of a result are left to the caller.
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
	e := configs.Errorf("model.name", "your own script trains an external model, in a process per worker, "+
		"and this command starts no scripts")
	e.Problems[0].Hint = "use peer lab, peer run or a comparison of mode lab, or take another model"
	return e
}

// external builds the worker of a program. It starts where the program does, or from the saved state s.
func (b *builder) external(s *state.Snapshot) (*Worker, error) {
	x, err := b.origin(s)
	if err != nil {
		return nil, err
	}
	oracle, err := b.outside()
	if err != nil {
		return nil, err
	}
	return b.trained(x, oracle, s)
}

// origin returns where the worker of a program starts, unless the saved state s says it.
func (b *builder) origin(s *state.Snapshot) ([]float32, error) {
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
		return nil, fmt.Errorf("the script starts with %d elements, but its tensors have %d", len(x), b.dim)
	}
	return x, nil
}

// outside returns the oracle of a program's updates.
func (b *builder) outside() (*train.Oracle, error) {
	return train.NewExternal(int(b.rank), train.Gradient(b.program.Gradient),
		train.Rule{Bound: b.bound, Exact: b.exact})
}
