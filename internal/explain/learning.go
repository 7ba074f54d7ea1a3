package explain

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"gossiptrainer/internal/record"
)

// Thresholds of sentences about the loss and the models.
const (
	bins   = 12   // equal parts of the rounds, over whose records a figure is averaged
	risen  = 1.5  // times the lowest loss
	undone = 0.05 // of what the loss had fallen by
	sure   = 3.0  // standard errors
	still  = 0.02 // of the loss at most, by which one that is flat has fallen
	grown  = 4.0  // times the gap of the first half
)

// A bin sums up the steps of workers over some rounds.
type bin struct {
	from, to int     // rounds: after from, up to to
	loss     float64 // mean
	wrong    float64 // variance of this mean
	gap      float64 // the largest
}

// bins returns the steps on record in equal parts of the rounds. It takes the losses of the workers that have steps in
// every part: the data of workers differ, and so their losses. The loss is NaN where scripts log none. Without a worker
// that has steps in every part it returns nil.
func (r *Record) bins() []bin {
	last, parts := r.round(), make([]bin, bins)
	for i := range parts {
		parts[i].from, parts[i].to = last*i/bins, last*(i+1)/bins
	}
	full, whole := 0, 0
	for i := range r.workers {
		var losses [bins][]float64
		var steps [bins]int
		for _, s := range r.workers[i].steps.all() {
			if s.Round > last { // of a process that has gone back since
				continue
			}
			part := (s.Round - 1) * bins / last
			steps[part]++
			if !math.IsNaN(s.Loss) {
				losses[part] = append(losses[part], s.Loss)
			}
			parts[part].gap = max(parts[part].gap, s.Gap)
		}
		if !slices.Contains(steps[:], 0) {
			full++
		}
		if slices.ContainsFunc(losses[:], func(l []float64) bool { return len(l) == 0 }) {
			continue
		}
		whole++
		for part, of := range losses {
			mean, variance := stat.MeanVariance(of, nil)
			parts[part].loss += mean
			if n := float64(len(of)); n > 1 {
				parts[part].wrong += variance / n
			}
		}
	}
	if full == 0 {
		return nil
	}
	for i := range parts {
		parts[i].loss /= float64(whole)
		parts[i].wrong /= float64(whole * whole)
	}
	return parts
}

// learning explains the loss and the distance of the models.
func (r *Record) learning() []Sentence {
	if said := r.diverged(); said != nil {
		return said
	}
	parts := r.bins()
	if parts == nil {
		return nil
	}
	var said []Sentence
	said = append(said, lossOf(parts, r.start())...)
	return append(said, gapOf(parts)...)
}

// diverged names the first worker whose loss is not finite.
func (r *Record) diverged() []Sentence {
	first := record.Step{Round: math.MaxInt}
	for i := range r.workers {
		for _, s := range r.workers[i].steps.all() {
			if math.IsInf(s.Loss, 0) && s.Round < first.Round {
				first = s
			}
		}
	}
	if first.Round == math.MaxInt {
		return nil
	}
	return []Sentence{says(Diverged, Problem, "the loss of worker %d is not finite in round %d",
		first.Rank, first.Round).of(first.Rank).in(first.Round, 0)}
}

// start returns the largest loss of the first steps on record: that of models that have learnt next to nothing.
func (r *Record) start() float64 {
	most := 0.0
	for i := range r.workers {
		if all := r.workers[i].steps.all(); len(all) > 0 {
			most = max(most, all[0].Loss)
		}
	}
	return most
}

// lossOf says whether the training loss rises or stands still. start is the loss of the first steps.
func lossOf(parts []bin, start float64) []Sentence {
	low, end := 0, len(parts)-1
	for i, b := range parts {
		if b.loss < parts[low].loss {
			low = i
		}
	}
	if !(parts[low].loss > 0) {
		return nil // a script may log none
	}
	start = max(start, parts[0].loss)
	if last, before := parts[end], parts[end-1]; low <= end-2 && rises(start, parts[low], before, last) {
		return []Sentence{says(LossRises, Problem, "the training loss rises since round %d: %.3g in the rounds before, "+
			"%.3g now", parts[low].to, parts[low].loss, last.loss).in(parts[low].to, last.to)}
	}
	last, middle := parts[end], len(parts)/2
	then, now := mean(parts[middle-2:middle+1]), mean(parts[end-2:])
	if fallen := then - now; fallen > still*then {
		return nil
	}
	severity, ever := Note, "any more"
	if first := parts[0].loss; first-now <= still*first {
		severity, ever = Warning, "at all"
	}
	return []Sentence{says(LossFlat, severity, "the training loss does not fall %s: %.4g around round %d, %.4g "+
		"around round %d", ever, then, parts[middle-1].to, now, parts[end-1].to).in(parts[middle].to, last.to)}
}

// rises reports whether the loss has risen since its lowest point, by much of what it had fallen by and by more than
// mini-batches vary.
func rises(start float64, low, before, last bin) bool {
	const rising = (1 + risen) / 2
	rise := last.loss - low.loss
	return last.loss >= risen*low.loss && before.loss >= rising*low.loss &&
		rise >= undone*(start-low.loss) && rise >= sure*math.Sqrt(low.wrong+last.wrong)
}

// mean returns the mean loss of some bins.
func mean(parts []bin) float64 {
	sum := 0.0
	for _, b := range parts {
		sum += b.loss
	}
	return sum / float64(len(parts))
}

// gapOf says whether the models of neighbours drift apart.
func gapOf(parts []bin) []Sentence {
	middle, least, most := len(parts)/2, math.Inf(1), 0.0
	for _, b := range parts[:middle] {
		most = max(most, b.gap)
	}
	for _, b := range parts[len(parts)-3:] {
		least = min(least, b.gap)
	}
	if most == 0 || least < grown*most {
		return nil
	}
	return []Sentence{says(GapGrows, Warning, "the models of neighbours drift apart: they differ by at most %.2g up "+
		"to round %d, by %.2g or more since round %d", most, parts[middle].from, least,
		parts[len(parts)-3].from).in(parts[len(parts)-3].from+1, parts[len(parts)-1].to)}
}
