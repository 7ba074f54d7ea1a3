package experiment

import (
	"gossiptrainer/configs"
	"gossiptrainer/internal/work"
)

// A Program is what a worker of an external model needs of its program.
type Program struct {
	// Start is x_0, of the length of the outline; the worker keeps it. Nil where the worker begins from a saved state.
	Start []float32
	// Exact is what the exact elements were at the start of the run, the same on all workers; nil: unknown.
	Exact []float32
	// Heir says that the worker only gives its algorithm to one that trains already, see gossip.Succeed.
	Heir bool
	// Gradient writes g = x − y. It returns the loss that the program has told last, 0 before any.
	Gradient work.Gradient
}

// Programmed returns a copy of r whose worker is that of an external model that p trains, in a process of its
// own. The run needs an outline. The saved state of the worker holds nothing of the
// program. Its Evaluate is nil, and the loss and accuracy of a result are left to the caller.
func (r *Run) Programmed(p Program) *Run {
	programmed := *r // a run does not change, so both may share it
	programmed.program = &p
	return &programmed
}

// CheckInside returns an error at its key if the model is external. Callers that compute gradients in this process need
// another one.
func CheckInside(c configs.Config) error {
	if !c.External() {
		return nil
	}
	e := configs.Errorf("model.name", "your own script trains an external model, in a process per worker, "+
		"and this command starts no scripts")
	e.Problems[0].Hint = "use peer lab, peer run or a comparison of mode lab, or take another model"
	return e
}
