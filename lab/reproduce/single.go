package reproduce

import (
	"fmt"
	"math"

	"gossiptrainer/internal/cells"
	"gossiptrainer/internal/human"
)

// misses judges whether no run of a reaches the target. A run that diverges does not.
func (a row) misses() (string, Verdict) {
	target, ok := a.target()
	if !ok || a.count(cells.Failed) > 0 {
		return fmt.Sprintf("%s has no target, or runs that failed", a.Label), Untested
	}
	n := a.missed(target)
	text := fmt.Sprintf("%s of %s did not reach %s", human.Part(n, len(a.Cells), "run"), a.Label, target)
	if n < len(a.Cells) {
		return text, Contradicted
	}
	return text, Supported
}

// rises judges whether bits rise during the runs of a.
func (a row) rises() (string, Verdict) {
	var first, last []float64
	up := 0
	for _, c := range a.Cells {
		from, to := a.BitsOf(c.Seed)
		if from == 0 {
			return fmt.Sprintf("runs of %s have no record of bits", a.Label), Untested
		}
		first, last = append(first, from), append(last, to)
		if to > from {
			up++
		}
	}
	text := fmt.Sprintf("%s of %s end with more bits than they began with: %.3g at first, %.3g at the end, means of %s",
		human.Part(up, len(a.Cells), "run"), a.Label, intervalOf(first).Mean, intervalOf(last).Mean,
		human.Count(len(a.Cells), "seed"))
	switch up {
	case len(a.Cells):
		return text, Supported
	case 0:
		return text, Contradicted
	}
	return text, Undecided
}

// repairs judges whether all runs of a find wrongly recovered messages and repair each.
func (a row) repairs() (string, Verdict) {
	found, repaired := int64(0), int64(0)
	for _, c := range a.Cells {
		if c.Summary == nil || c.Theta.Violations == nil {
			return fmt.Sprintf("runs of %s failed, or do not look for wrong messages", a.Label), Untested
		}
		found, repaired = found+*c.Theta.Violations, repaired+c.Theta.Repaired
	}
	text := fmt.Sprintf("%s found %d wrong messages in %s and repaired %d", a.Label, found,
		human.Count(len(a.Cells), "run"), repaired)
	switch {
	case found == 0:
		return text, Untested
	case repaired < found:
		return text, Contradicted
	}
	return text, Supported
}

// closer judges whether the replicas of a end closer together than those of b, by a factor.
func (a row) closer(b row, factor float64) (string, Verdict) {
	var ours, theirs, ratios []float64
	a.paired(b, func(x, y cells.Cell) {
		if x.Consensus != nil && y.Consensus != nil && *x.Consensus > 0 {
			ours, theirs = append(ours, *x.Consensus), append(theirs, *y.Consensus)
			ratios = append(ratios, *y.Consensus / *x.Consensus)
		}
	})
	if len(ratios) == 0 {
		return fmt.Sprintf("%s and %s have no distance between replicas of the same seed", a.Label, b.Label), Untested
	}
	r := ratioOf(ratios)
	return fmt.Sprintf("replicas of %s end %.3g apart, those of %s %.3g: %s", a.Label, ratioOf(ours).Mean, b.Label,
		ratioOf(theirs).Mean, r.times("closer", "farther")), r.above(max(1, factor))
}

// then judges whether a is more accurate than b by some points when the first of the two ends.
func (a row) then(b row, points float64) (string, Verdict) {
	var ours, theirs, differences, times []float64
	a.paired(b, func(x, y cells.Cell) {
		end := min(x.Time, y.Time)
		p, q := a.AccuracyAt(x.Seed, end), b.AccuracyAt(y.Seed, end)
		if p != nil && q != nil && !math.IsNaN(*p-*q) {
			ours, theirs = append(ours, 100**p), append(theirs, 100**q)
			differences, times = append(differences, 100*(*p-*q)), append(times, end)
		}
	})
	if len(differences) == 0 {
		return fmt.Sprintf("%s and %s have no accuracy at equal times", a.Label, b.Label), Untested
	}
	d := intervalOf(differences)
	return fmt.Sprintf("after %s s %s %.2f %%, %s %.2f %%: %+.2f points%s", digits(ratioOf(times).Mean), a.Label,
		intervalOf(ours).Mean, b.Label, intervalOf(theirs).Mean, d.Mean, d.words("%+.2f")) + tested(a, b), d.above(points)
}
