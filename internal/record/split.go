package record

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Split says which data the workers of a run had.
type Split struct {
	Partition string `json:"partition"`
	Train     []int  `json:"rows_per_worker"`      // by rank; 0: unknown
	Test      []int  `json:"test_rows_per_worker"` // the same
	TestSets  int    `json:"test_sets"`            // different ones
	Evaluated string `json:"evaluated_on"`         // for users
	Sampled   int    `json:"sampled,omitempty"`    // test rows that scored each replica during the run; 0: all of them

	BySamples  bool      `json:"by_samples,omitempty"`  // workers count by their rows, not equally
	LabelNoise []float64 `json:"label_noise,omitempty"` // shares of labels replaced on purpose, of all or by rank
}

// SumRows sums up the data of the workers of a run. It is nil if no result has them.
func SumRows(partition string, finals []Final, workers int) *Split {
	s := &Split{Partition: partition, Train: make([]int, workers), Test: make([]int, workers)}
	sets := make(map[string]bool)
	for _, f := range finals {
		if d := f.Data; d != nil && f.Rank >= 0 && f.Rank < workers {
			s.Train[f.Rank], s.Test[f.Rank] = d.Train, d.Test
			sets[d.TestSet] = true
		}
	}
	switch s.TestSets = len(sets); s.TestSets {
	case 0:
		return nil
	case 1:
		s.Evaluated = fmt.Sprintf("one test set of %s rows", listed(s.Test))
	default:
		s.Evaluated = fmt.Sprintf("%d different test sets, of %s rows: "+
			"each worker on its own, the average model on all of them", s.TestSets, listed(s.Test))
	}
	return s
}

// String describes the split for users.
func (s Split) String() string {
	text := fmt.Sprintf("%s, %s rows per worker", s.Partition, listed(s.Train))
	switch {
	case s.BySamples:
		text += ", all rows count equally"
	case slices.Min(s.Train) < slices.Max(s.Train)-1:
		text += ", all workers count equally"
	}
	if len(s.LabelNoise) > 0 && slices.Max(s.LabelNoise) > 0 {
		text += fmt.Sprintf(", %s %% of the labels replaced", spread(s.LabelNoise))
	}
	text += "; evaluated on " + s.Evaluated
	if s.Sampled > 0 {
		text += fmt.Sprintf("; scores of replicas during the run are of %d rows", s.Sampled)
	}
	return text
}

// spread writes shares as per cent for users: one if all are equal, else a range.
func spread(shares []float64) string {
	low, high := 100*slices.Min(shares), 100*slices.Max(shares)
	if low == high {
		return fmt.Sprintf("%.3g", low)
	}
	return fmt.Sprintf("%.3g to %.3g", low, high)
}

// listed writes numbers for users: one if all known ones are equal, a range if they are many.
func listed(numbers []int) string {
	const most = 8
	known := slices.DeleteFunc(slices.Clone(numbers), func(n int) bool { return n == 0 })
	if len(known) == 0 {
		return "unknown"
	}
	low, high := slices.Min(known), slices.Max(known)
	switch {
	case low == high:
		return strconv.Itoa(low)
	case len(numbers) > most:
		return fmt.Sprintf("%d to %d", low, high)
	}
	words := make([]string, len(numbers))
	for i, n := range numbers {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ", ")
}
