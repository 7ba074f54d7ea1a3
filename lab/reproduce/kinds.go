package reproduce

import (
	"fmt"
	"math"
	"strings"

	"gossiptrainer/internal/cells"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/record"
	"gossiptrainer/lab/study"
)

// accuracy judges whether the final accuracy of a is that of b plus some points, or higher.
func (a row) accuracy(b row, points float64) (string, Verdict) {
	var ours, theirs, differences []float64
	kind := study.KindOf(a.Group, b.Group)
	a.paired(b, func(x, y cells.Cell) {
		if p, q := 100*accuracyOf(x, kind), 100*accuracyOf(y, kind); !math.IsNaN(p - q) {
			ours, theirs, differences = append(ours, p), append(theirs, q), append(differences, p-q)
		}
	})
	if len(differences) == 0 {
		return fmt.Sprintf("%s and %s have no accuracy of the same seed", a.Label, b.Label), Untested
	}
	d := intervalOf(differences)
	return fmt.Sprintf("%s %.2f %%, %s %.2f %%%s: %+.2f points%s", a.Label, intervalOf(ours).Mean, b.Label,
		intervalOf(theirs).Mean, kindWords(kind), d.Mean, d.words("%+.2f")) + tested(a, b), d.above(points)
}

// tested says on how many test rows the accuracies of rows rest, the least; "": it is not known.
func tested(all ...row) string {
	least := math.MaxInt
	for _, r := range all {
		least = min(least, r.TestRows())
	}
	if least == 0 {
		return ""
	}
	return ", " + human.Count(least, "test row")
}

// words writes the interval, or that there is none.
func (i interval) words(format string) string {
	if i.N < 2 {
		return " (one seed is not judged)"
	}
	high := fmt.Sprintf(format, i.High)
	if math.IsInf(i.High, 0) {
		high = "no bound" // the target was reached in the first record that can tell
	}
	return fmt.Sprintf(" ["+format+", %s], %d seeds", i.Low, high, i.N)
}

// toTarget judges how much faster, or with how many fewer bytes, a reaches the target than b.
func (a row) toTarget(b row, c Check) (string, Verdict) {
	target, ok := a.target()
	if !ok {
		return "the comparison has no target", Untested
	}
	if words, v, ended := a.lacks(b, target, c.Kind); ended {
		return words, v
	}
	var ours, theirs cost
	var ratios, least, most []float64
	a.paired(b, func(x, y cells.Cell) {
		p, q := reached(x, target), reached(y, target)
		ours.add(p, c.Kind)
		theirs.add(q, c.Kind)
		ratio := costOf(q, c.Kind) / costOf(p, c.Kind)
		ratios = append(ratios, ratio)
		// The target was reached between two records: the ratio is as uncertain as both times together.
		least = append(least, ratio*(q.After/q.Time)/(p.Seen/p.Time))
		most = append(most, ratio*(q.Seen/q.Time)/(p.After/p.Time))
	})
	r := ratioOf(ratios).holding(ratioOf(least).Mean, ratioOf(most).Mean)
	unit, less, more := "s", "faster", "slower"
	if c.Kind == FewerTo {
		unit, less, more = "MB", "fewer", "more"
	}
	text := fmt.Sprintf("to %s %s %s %s, %s %s %s: %s", target, a.Label, ours, unit, b.Label, theirs, unit,
		r.times(less, more))
	if c.Kind == Alike {
		return text, r.between(1/c.By, c.By)
	}
	return text, r.above(max(1, c.By))
}

// A cost is the seconds or megabytes of runs until a target.
type cost struct {
	values []float64
	bound  bool // a run may have been there at any earlier time
}

func (c *cost) add(r *record.Reached, kind Kind) {
	c.values = append(c.values, costOf(r, kind))
	c.bound = c.bound || !r.Known()
}

// String writes the geometric mean, which is a bound where a time is one.
func (c cost) String() string {
	mean := digits(ratioOf(c.values).Mean)
	if c.bound {
		return "at most " + mean
	}
	return mean
}

// digits writes three digits of a number, or all before the point.
func digits(v float64) string {
	if v >= 1000 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// times writes a ratio as in 3× fewer, or as its inverse if it is below 1.
func (i interval) times(less, more string) string {
	if i.Mean < 1 {
		i.Mean, i.Low, i.High, less = 1/i.Mean, 1/i.High, 1/i.Low, more
	}
	return fmt.Sprintf("%.3g× %s%s", i.Mean, less, i.words("%.3g"))
}

// costOf returns the seconds or megabytes until a target was reached.
func costOf(r *record.Reached, kind Kind) float64 {
	if kind == FewerTo {
		return float64(r.Bytes) / 1e6
	}
	return r.Time
}

// between judges the claim that a value lies between two bounds.
func (i interval) between(low, high float64) Verdict {
	switch {
	case i.N < 2:
		return Untested
	case i.Low >= low && i.High <= high:
		return Supported
	case i.High < low || i.Low > high:
		return Contradicted
	}
	return Undecided
}

// lacks decides a comparison in which runs miss the target, and reports whether it could. A row that reaches it in all
// runs is ahead of one whose runs all miss it, if these went on for longer than it took.
func (a row) lacks(b row, target record.Target, kind Kind) (words string, v Verdict, ended bool) {
	ours, theirs := a.missed(target), b.missed(target)
	if ours == 0 && theirs == 0 {
		return "", 0, false
	}
	for _, r := range []row{a, b} {
		if n := r.missed(target); n > 0 {
			words += fmt.Sprintf("%s of %s did not reach %s; ", human.Part(n, len(r.Cells), "run"), r.Label, target)
		}
	}
	words = strings.TrimSuffix(words, "; ")
	switch {
	case kind != Sooner:
		return words, Undecided, true
	case ours == 0 && theirs == len(b.Cells) && a.before(b, target):
		return words, Supported, true
	case theirs == 0 && ours == len(a.Cells) && b.before(a, target):
		return words, Contradicted, true
	}
	return words, Undecided, true
}

// missed counts the runs that did not reach the target.
func (a row) missed(target record.Target) int {
	n := 0
	for _, c := range a.Cells {
		if reached(c, target) == nil {
			n++
		}
	}
	return n
}

// before reports whether a reached the target before the runs of b ended, in two seeds or more.
func (a row) before(b row, target record.Target) bool {
	n, all := 0, true
	a.paired(b, func(x, y cells.Cell) {
		n++
		all = all && reached(x, target).Seen < y.Time
	})
	return all && n > 1
}

// fewer judges whether a sends fewer bytes per round than b, by a factor.
func (a row) fewer(b row, factor float64) (string, Verdict) {
	var ours, theirs, ratios []float64
	perRound := func(c cells.Cell) float64 {
		return float64(c.BytesPerPeer.Wire) / 1e6 / float64(max(1, c.Rounds))
	}
	a.paired(b, func(x, y cells.Cell) {
		ours, theirs = append(ours, perRound(x)), append(theirs, perRound(y))
		ratios = append(ratios, perRound(y)/perRound(x))
	})
	r := ratioOf(ratios)
	return fmt.Sprintf("%s %.3g MB per round and worker, %s %.3g MB: %s", a.Label, ratioOf(ours).Mean, b.Label,
		ratioOf(theirs).Mean, r.times("fewer", "more")), r.above(max(1, factor))
}

// lessMemory judges whether a needs less extra memory than b.
func (a row) lessMemory(b row) (string, Verdict) {
	var ours, theirs, differences []float64
	a.paired(b, func(x, y cells.Cell) {
		p, q := float64(x.ExtraMemory)/1e6, float64(y.ExtraMemory)/1e6
		ours, theirs, differences = append(ours, p), append(theirs, q), append(differences, q-p)
	})
	d := intervalOf(differences)
	return fmt.Sprintf("%s %.3g MB, %s %.3g MB: %.3g MB less%s", a.Label, intervalOf(ours).Mean, b.Label,
		intervalOf(theirs).Mean, d.Mean, d.words("%.3g")), d.above(0)
}

// noMemory judges whether a needs no extra memory.
func (a row) noMemory() (string, Verdict) {
	most, n := int64(0), 0
	for _, c := range a.Cells {
		if c.Summary != nil {
			most, n = max(most, c.ExtraMemory), n+1
		}
	}
	text := fmt.Sprintf("%s needs at most %.3g MB in %s", a.Label, float64(most)/1e6, human.Part(n, len(a.Cells), "run"))
	switch {
	case most > 0:
		return text, Contradicted
	case n < len(a.Cells):
		return text, Undecided
	}
	return text, Supported
}

// converges judges whether all runs of a reach the target.
func (a row) converges() (string, Verdict) {
	target, ok := a.target()
	if n := a.count(cells.Diverged); n > 0 {
		return fmt.Sprintf("%s of %s diverged", human.Part(n, len(a.Cells), "run"), a.Label), Contradicted
	}
	if !ok || a.count(cells.Failed) > 0 {
		return fmt.Sprintf("%s has no target, or runs that failed", a.Label), Untested
	}
	n := len(a.Cells) - a.missed(target)
	text := fmt.Sprintf("%s of %s reached %s", human.Part(n, len(a.Cells), "run"), a.Label, target)
	if n < len(a.Cells) {
		return text, Undecided // longer runs might
	}
	return text, Supported
}

// diverges judges whether no run of a learns: each diverges, or ends with at most an accuracy.
func (a row) diverges(most float64) (string, Verdict) {
	diverged, low, learned, best := 0, 0, 0, 0.0
	kind := study.KindOf(a.Group)
	for _, c := range a.Cells {
		switch accuracy := accuracyOf(c, kind); {
		case c.Status == cells.Diverged:
			diverged++
		case accuracy <= most:
			low++
		case accuracy > most:
			learned++
			best = max(best, accuracy)
		}
	}
	if diverged+low+learned < len(a.Cells) {
		return fmt.Sprintf("runs of %s failed or have no accuracy", a.Label), Untested
	}
	text := fmt.Sprintf("%s of %s diverged", human.Part(diverged, len(a.Cells), "run"), a.Label)
	if low > 0 {
		text += fmt.Sprintf(", %d ended at %.0f %% accuracy or less%s", low, 100*most, tested(a))
	}
	if learned > 0 {
		return text + fmt.Sprintf(", %d learned, up to %.2f %%%s", learned, 100*best, tested(a)), Contradicted
	}
	return text, Supported
}
