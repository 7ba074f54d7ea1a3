// Package stats has the intervals and the medians of this module.
package stats

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"gossiptrainer/internal/human"
)

// Confidence of all intervals.
const Confidence = 0.95

// narrow is the share of a number below which a difference from it is that of rounding.
const narrow = 1e-9

// An Interval is the mean of one number per seed with its 95 % interval by Student's t. Low and High are NaN for fewer
// than two seeds. Peers of one run are not independent samples, so they do not count.
type Interval struct {
	Mean, Low, High float64
	N               int
}

// Mean returns the interval of values. Without values the mean is NaN.
func Mean(values []float64) Interval {
	i := Interval{Mean: math.NaN(), Low: math.NaN(), High: math.NaN(), N: len(values)}
	if i.N == 0 {
		return i
	}
	i.Mean = stat.Mean(values, nil)
	if i.N > 1 {
		t := distuv.StudentsT{Sigma: 1, Nu: float64(i.N - 1)}.Quantile((1 + Confidence) / 2)
		half := t * stat.StdDev(values, nil) / math.Sqrt(float64(i.N))
		i.Low, i.High = i.Mean-half, i.Mean+half
	}
	return i
}

// Ratio returns the geometric mean of positive numbers with the interval of their logarithms, which is never below
// zero. If a value is 0, the mean is 0 and has no interval.
func Ratio(values []float64) Interval {
	logs := make([]float64, len(values))
	for i, v := range values {
		if v <= 0 {
			return Interval{Low: math.NaN(), High: math.NaN(), N: len(values)}
		}
		logs[i] = math.Log(v)
	}
	i := Mean(logs)
	return Interval{Mean: math.Exp(i.Mean), Low: math.Exp(i.Low), High: math.Exp(i.High), N: i.N}
}

// Paired returns what a function makes of the two numbers of each seed that both have, in the order of the seeds.
func Paired(a, b map[uint64]float64, of func(x, y float64) float64) (all []float64) {
	for _, seed := range slices.Sorted(maps.Keys(a)) {
		if y, both := b[seed]; both {
			all = append(all, of(a[seed], y))
		}
	}
	return all
}

// Within widens the interval to contain low and high, so that it is not finer than the measurement. A single number has
// no interval unless low is 0 or high infinite, which means a bound.
func (i Interval) Within(low, high float64) Interval {
	switch {
	case i.N > 1:
		i.Low, i.High = min(i.Low, low), max(i.High, high)
	case i.N == 1 && (low == 0 || math.IsInf(high, 0)):
		i.Low, i.High = low, high
	}
	return i
}

// Against returns 1 where all of the interval is above a bound, and −1 where all of it is below. It returns 0 where the
// interval holds the bound or is unknown.
func (i Interval) Against(bound float64) int {
	switch {
	case i.N > 1 && i.Low > bound && i.High > bound:
		return 1
	case i.N > 1 && i.Low < bound && i.High < bound:
		return -1
	}
	return 0
}

// Half returns half of the width, NaN without an interval.
func (i Interval) Half() float64 { return (i.High - i.Low) / 2 }

// IsBound reports whether only a bound of positive numbers is known: the mean is then no measurement.
func (i Interval) IsBound() bool { return i.Low == 0 && i.High > 0 || math.IsInf(i.High, 0) }

// Range writes the interval of a positive number.
func (i Interval) Range() string {
	half := i.Half()
	switch {
	case i.Low == 0 && math.IsInf(i.High, 0):
		return "any number"
	case i.Low == 0:
		return "at most " + human.Digits(i.High, 3)
	case math.IsInf(i.High, 0):
		return "at least " + human.Digits(i.Low, 3)
	case half <= narrow*i.Mean:
		return "exactly " + human.Digits(i.Mean, 3)
	}
	return human.Beside(i.Low, half) + " to " + human.Beside(i.High, half)
}

// String writes the mean of positive numbers to three digits. With an interval, it writes all numbers to the place of
// the second digit of the half width, or of their own if that is finer.
func (i Interval) String() string {
	switch half := i.Half(); {
	case i.N == 0:
		return "-"
	case math.IsNaN(half):
		return human.Digits(i.Mean, 3)
	case i.IsBound():
		return i.Range()
	case half <= narrow*i.Mean:
		return human.Digits(i.Mean, 3) + " ± 0"
	default:
		return fmt.Sprintf("%s [%s, %s]", human.Beside(i.Mean, half), human.Beside(i.Low, half), human.Beside(i.High, half))
	}
}

// PlusMinus writes the mean to three digits. With an interval, it writes the mean and half of the width to the place of
// the second digit of that half.
func (i Interval) PlusMinus() string {
	switch half := i.Half(); {
	case i.N == 0:
		return "-"
	case math.IsNaN(half):
		return human.Digits(i.Mean, 3)
	case half == 0:
		return human.Digits(i.Mean, 3) + " ± 0"
	default:
		return human.Decimal(i.Mean, half, 2) + " ± " + human.Digits(half, 2)
	}
}

// Median returns the value in the middle, the mean of the two in the middle of an even number of values, and 0 of none.
// It leaves the order of the values.
func Median[T ~int64 | ~float64](values []T) T {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	low, high := sorted[(len(sorted)-1)/2], sorted[len(sorted)/2]
	return low + (high-low)/2
}
