package report

import "fmt"

// Bounds of what a Watch complains about.
const (
	idleShare = 1e-3 // of the coordinates, below which next to nothing is exchanged
	idleSteps = 3    // records in a row, from the first one on
)

// A Watch notices in the records of a run what no verification can: a θ so large
// that the indices of all neighbours are equal. No hash fails then, the losses
// fall, and every worker trains for itself.
type Watch struct {
	Dim int // parameters of the model

	idle   int // records so far, all of them idle
	silent bool
}

// See looks at a record and returns what is wrong, once, or "". It says nothing
// once some record has shown an exchange: where models have met, equal indices
// are what they should be.
func (w *Watch) See(s Step) string {
	if w.silent || s.Theta == 0 || w.Dim == 0 || s.Round < idleSteps {
		return ""
	}
	if float64(s.Moved) >= idleShare*float64(w.Dim) {
		w.silent = true
		return ""
	}
	if w.idle++; w.idle < idleSteps {
		return ""
	}
	w.silent = true
	return fmt.Sprintf("worker %d round %d: %d of %d grid indices differ from the neighbours': theta %.3g is far too large, or the models are equal: nothing is exchanged",
		s.Rank, s.Round, s.Moved, w.Dim, s.Theta)
}
