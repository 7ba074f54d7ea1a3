package reproduce

import "gossiptrainer/internal/stats"

// An interval is a mean over seeds with its 95 % interval, which judges claims.
type interval struct{ stats.Interval }

func intervalOf(values []float64) interval { return interval{stats.Mean(values)} }

func ratioOf(ratios []float64) interval { return interval{stats.Ratio(ratios)} }

// holding returns the interval that also holds all values from low to high.
func (i interval) holding(low, high float64) interval { return interval{i.Within(low, high)} }

// above judges the claim that a value is more than bound. One seed is not judged.
func (i interval) above(bound float64) Verdict {
	if i.N < 2 {
		return Untested
	}
	return []Verdict{Contradicted, Undecided, Supported}[1+i.Against(bound)]
}
