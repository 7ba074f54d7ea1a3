package record

import "fmt"

// Bounds beyond which a Watch warns.
const (
	idleShare  = 1e-3 // of the coordinates; if fewer differ, almost nothing is exchanged
	watchSteps = 3    // records in a row, from the first one on
	coarse     = 2    // grid steps that no difference of neighbours exceeds
	fineLevels = 64   // of a grid on which such differences use almost nothing of θ
)

// A Watch notices in the records of a run that θ is far too large, which no verification notices. With rounding to
// nearest, all neighbours then have equal indices: no hash fails, the losses fall, and every worker trains alone. With
// random rounding, neighbours then differ by one or two grid steps, which is the noise of the rounding.
type Watch struct {
	Dim    int // parameters of the model
	Levels int // N of the grid; 0: unknown

	seen, idle, noisy int // records so far, and how many of each kind
	silent            bool
}

// See returns a warning for a record, at most once, or "". It is silent after a record with the
// differences for which the grid is made: later, when the models have met, equal indices are right.
func (w *Watch) See(s Step) string {
	if w.silent || s.Theta == 0 || w.Dim == 0 || s.Round < watchSteps {
		return ""
	}
	w.seen++
	if float64(s.Moved) < idleShare*float64(w.Dim) {
		w.idle++
	}
	if w.grainy(s) {
		w.noisy++
	}
	w.silent = w.idle < w.seen && w.noisy < w.seen
	if w.silent || w.seen < watchSteps {
		return ""
	}
	w.silent = true
	if w.idle == w.seen {
		return fmt.Sprintf("worker %d round %d: %d of %d grid indices differ from the neighbours': theta %.3g is far too "+
			"large, or the models are equal: nothing is exchanged",
			s.Rank, s.Round, s.Moved, w.Dim, s.Theta)
	}
	return fmt.Sprintf("worker %d round %d: %d of %d grid indices differ from the neighbours', by at most %d of %d "+
		"levels: theta %.3g is far too large: models differ by less than %.2g, mostly noise of the rounding: set "+
		"algorithm.theta.rule: adaptive",
		s.Rank, s.Round, s.Moved, w.Dim, coarse, w.Levels, s.Theta, s.Gap)
}

// grainy reports whether neighbours differ by at most a few steps of a grid that is fine enough for many.
func (w *Watch) grainy(s Step) bool {
	step := 2 * s.Theta / float64(w.Levels-1)
	return w.Levels >= fineLevels && s.Gap < (coarse+0.5)*step
}
