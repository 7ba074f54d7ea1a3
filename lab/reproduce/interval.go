package reproduce

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// confidence of all intervals.
const confidence = 0.95

// An interval is a mean over seeds with its 95 % interval by Student's t. Low and High are NaN for fewer than two
// seeds.
type interval struct {
	Mean, Low, High float64
	N               int
}

// intervalOf returns the interval of values, one per seed.
func intervalOf(values []float64) interval {
	i := interval{Mean: math.NaN(), Low: math.NaN(), High: math.NaN(), N: len(values)}
	if i.N == 0 {
		return i
	}
	i.Mean = stat.Mean(values, nil)
	if i.N > 1 {
		t := distuv.StudentsT{Sigma: 1, Nu: float64(i.N - 1)}.Quantile((1 + confidence) / 2)
		half := t * stat.StdDev(values, nil) / math.Sqrt(float64(i.N))
		i.Low, i.High = i.Mean-half, i.Mean+half
	}
	return i
}

// ratioOf returns the geometric mean of positive ratios, with the interval of their logarithms.
func ratioOf(ratios []float64) interval {
	logs := make([]float64, len(ratios))
	for k, r := range ratios {
		logs[k] = math.Log(r)
	}
	i := intervalOf(logs)
	i.Mean, i.Low, i.High = math.Exp(i.Mean), math.Exp(i.Low), math.Exp(i.High)
	return i
}

// holding returns the interval that also holds all values from low to high. An interval that is unknown stays so.
func (i interval) holding(low, high float64) interval {
	if i.N > 1 {
		i.Low, i.High = min(i.Low, low), max(i.High, high)
	}
	return i
}

// above judges the claim that a value is more than bound.
func (i interval) above(bound float64) Verdict {
	switch {
	case i.N < 2:
		return Undecided
	case i.Low > bound:
		return Supported
	case i.High < bound:
		return Contradicted
	}
	return Undecided
}
