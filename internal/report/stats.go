package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// An estimate is the mean of one number per seed with the half width of its 95 % interval by Student's t. The half
// width is NaN for fewer than two seeds. Peers of one run are not independent samples, so they do not count.
type estimate struct {
	Mean, Half float64
	N          int
}

// confidence of all intervals.
const confidence = 0.95

// estimateOf returns the estimate of values. Without values the mean is NaN.
func estimateOf(values []float64) estimate {
	e := estimate{Mean: math.NaN(), Half: math.NaN(), N: len(values)}
	if e.N == 0 {
		return e
	}
	e.Mean = stat.Mean(values, nil)
	if e.N > 1 {
		t := distuv.StudentsT{Sigma: 1, Nu: float64(e.N - 1)}.Quantile((1 + confidence) / 2)
		e.Half = t * stat.StdDev(values, nil) / math.Sqrt(float64(e.N))
	}
	return e
}

// String writes the mean to three digits. With an interval, it writes mean and interval to the place of the interval's
// second digit.
func (e estimate) String() string {
	switch {
	case e.N == 0:
		return "-"
	case math.IsNaN(e.Half):
		return decimal(e.Mean, e.Mean, 3)
	case e.Half == 0:
		return decimal(e.Mean, e.Mean, 3) + " ± 0"
	}
	return decimal(e.Mean, e.Half, 2) + " ± " + decimal(e.Half, e.Half, 2)
}

// decimal writes v to the place of the last of the given number of digits of scale, without an exponent if v is not too
// large or small.
func decimal(v, scale float64, digits int) string {
	const least, most = 1e-4, 1e7
	if size := math.Abs(scale); size != 0 && size < least || size >= most || math.Abs(v) >= most {
		return strconv.FormatFloat(v, 'g', digits, 64)
	}
	place := 0
	if scale != 0 {
		place = max(0, digits-1-int(math.Floor(math.Log10(math.Abs(scale)))))
	}
	return strconv.FormatFloat(v, 'f', place, 64)
}

// A geomean is the geometric mean of positive numbers with its 95 % interval. The interval is that of the mean of the
// logarithms, so it is never below zero. Low and High are NaN for fewer than two numbers.
type geomean struct {
	Mean, Low, High float64
	N               int
}

// geomeanOf returns the geomean of values. If a value is 0, the mean is 0 and has no interval.
func geomeanOf(values []float64) geomean {
	logs := make([]float64, len(values))
	for i, v := range values {
		if v <= 0 {
			return geomean{Low: math.NaN(), High: math.NaN(), N: len(values)}
		}
		logs[i] = math.Log(v)
	}
	e := estimateOf(logs)
	return geomean{Mean: math.Exp(e.Mean), Low: math.Exp(e.Mean - e.Half), High: math.Exp(e.Mean + e.Half), N: e.N}
}

// ratioOf returns the geomean of the ratios of two algorithms, paired by seed. A
// ratio to 0 is infinite.
func ratioOf(a, b map[uint64]float64) geomean {
	var ratios []float64
	for _, seed := range sortedKeys(a) {
		if y, both := b[seed]; both {
			ratios = append(ratios, a[seed]/y)
		}
	}
	return geomeanOf(ratios)
}

// sortedKeys returns the seeds of values.
func sortedKeys(values map[uint64]float64) []uint64 { return slices.Sorted(maps.Keys(values)) }

// within widens the interval of g to contain low and high, so that it is not finer than the measurement. A single
// number has no interval unless low is 0 or high infinite, which means a bound.
func (g geomean) within(low, high float64) geomean {
	switch {
	case g.N > 1:
		g.Low, g.High = min(g.Low, low), max(g.High, high)
	case g.N == 1 && (low == 0 || math.IsInf(high, 0)):
		g.Low, g.High = low, high
	}
	return g
}

// isBound reports whether only a bound is known: the mean is then no measurement.
func (g geomean) isBound() bool { return g.Low == 0 && g.High > 0 || math.IsInf(g.High, 0) }

// interval writes the interval of g.
func (g geomean) interval() string {
	half := (g.High - g.Low) / 2
	switch {
	case g.Low == 0 && math.IsInf(g.High, 0):
		return "any number"
	case g.Low == 0:
		return "at most " + decimal(g.High, g.High, 3)
	case math.IsInf(g.High, 0):
		return "at least " + decimal(g.Low, g.Low, 3)
	case half <= narrow*g.Mean:
		return "exactly " + decimal(g.Mean, g.Mean, 3)
	}
	return beside(g.Low, half) + " to " + beside(g.High, half)
}

// certain reports whether the interval does not contain 1.
func (g geomean) certain() bool { return g.N > 1 && (g.Low > 1 || g.High < 1) }

// String writes the mean to three digits. With an interval, it writes all numbers to the place of the second digit of
// the half width, or of their own if that is finer.
func (g geomean) String() string {
	switch half := (g.High - g.Low) / 2; {
	case g.N == 0:
		return "-"
	case math.IsNaN(half):
		return decimal(g.Mean, g.Mean, 3)
	case g.isBound():
		return g.interval()
	case half <= narrow*g.Mean:
		return decimal(g.Mean, g.Mean, 3) + " ± 0"
	default:
		return fmt.Sprintf("%s [%s, %s]", beside(g.Mean, half), beside(g.Low, half), beside(g.High, half))
	}
}

// beside writes v > 0 to the place of the second digit of half. If v is smaller, it takes v's own second digit, so that
// a positive number is never written as 0.
func beside(v, half float64) string {
	if v > 0 {
		half = min(half, v)
	}
	return decimal(v, half, 2)
}
