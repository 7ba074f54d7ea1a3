package report

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// An Estimate is the mean of one number per seed with the half width of its
// 95 % interval by Student's t, NaN for fewer than two. Peers of one run are no
// independent samples: they never count.
type Estimate struct {
	Mean, Half float64
	N          int
}

// confidence of all intervals.
const confidence = 0.95

// Estimated returns the estimate of values; of none its mean is NaN.
func Estimated(values []float64) Estimate {
	e := Estimate{Mean: math.NaN(), Half: math.NaN(), N: len(values)}
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

// String writes the mean with its interval, to three digits.
func (e Estimate) String() string {
	switch {
	case e.N == 0:
		return "-"
	case math.IsNaN(e.Half):
		return fmt.Sprintf("%.3g", e.Mean)
	}
	return fmt.Sprintf("%.3g ± %.1g", e.Mean, e.Half)
}

// A Ratio is a ratio of positive numbers that belong together in pairs, with
// its 95 % interval: of the mean of the logarithms.
type Ratio struct {
	Mean, Low, High float64
	N               int
}

// RatioOf compares the numbers of two algorithms, paired by seed.
func RatioOf(a, b map[uint64]float64, seeds []uint64) Ratio {
	var logs []float64
	for _, seed := range seeds {
		x, ok := a[seed]
		y, both := b[seed]
		if ok && both && x > 0 && y > 0 {
			logs = append(logs, math.Log(x/y))
		}
	}
	e := Estimated(logs)
	return Ratio{Mean: math.Exp(e.Mean), Low: math.Exp(e.Mean - e.Half), High: math.Exp(e.Mean + e.Half), N: e.N}
}

// Certain reports whether the interval does not contain 1.
func (r Ratio) Certain() bool { return r.N > 1 && (r.Low > 1 || r.High < 1) }
