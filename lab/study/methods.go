package study

import (
	"fmt"
	"slices"

	"gossiptrainer/internal/human"
	"gossiptrainer/internal/record"
)

// Methods explains how the numbers of the report are made, in paragraphs.
func (s *Study) Methods() []string {
	return []string{howRun(s), howTimed(s),
		"Bytes are encrypted bytes on the wire. Times and bytes are geometric means over the seeds with their 95 % " +
			"intervals [from, to] on the logarithmic scale, by Student's t. An interval of a time to a target is never " +
			"narrower than the records between which the time was interpolated.",
		fmt.Sprintf("Accuracy and loss are means over the seeds ± half of their 95 %% interval. Speedups are against "+
			"%s, paired by seed, where all runs of both reach the target. Accuracy is %s. The worst "+
			"replica is the least accurate peer. Curves and times to an accuracy are those of the mean of all models where "+
			"the simulator evaluates it during the run, else the mean over the peers.", referenceOf(s.first()), ofWhich(s)),
		fmt.Sprintf("Tables show the training loss of the last record. Targets use the mean of %[1]d records, which "+
			"stands for the middle one. Figures have the same means; at both ends these cover fewer records, equally many on "+
			"each side. A target is reached only at a mean of %[1]d records. Bands in figures go from the least to the "+
			"largest seed and are not intervals. A dash is a value that was not measured.", record.Smoothing),
		"The formula for a round is max(g, m) where messages overlap the gradient, else g + m. Here g is the time of a " +
			"gradient. The time m of the messages adds, for each hop, one latency and the bytes of the worker that sends the " +
			"most, divided by the rate. It counts neither repairs nor waiting.",
	}
}

// ofWhich says which accuracy the tables have.
func ofWhich(s *Study) string {
	averaged := slices.ContainsFunc(s.Groups, func(g *Group) bool { return len(g.values(averageAccuracy)) > 0 })
	if averaged && KindOf(s.Groups...) == OfAverages {
		return "that of the mean of all models"
	}
	return "the mean over the peers"
}

// howRun says which cells ran and where.
func howRun(s *Study) string {
	text := fmt.Sprintf("Each of %s runs with %s on %s, from the run file %s.", human.Count(len(s.first()), "algorithm"),
		human.Count(len(s.Seeds), "seed"), human.Count(len(s.Networks), "network"), s.Base)
	if len(s.Trials) > 0 {
		text += " Short runs with a seed that no cell has choose the values to tune, and the table of searches shows them."
	}
	return text + " The table of settings has every value that is not a default of the program."
}

// howTimed says which clock the times have.
func howTimed(s *Study) string {
	if s.Mode == "sim" {
		return "Times are virtual seconds of training without setup; the caveats say what they leave out."
	}
	return "Times are seconds of training without setup, of real peers on one machine."
}
