package report

import (
	"math"
	"strconv"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// An estimate is the mean of one number per seed with the half width of its
// 95 % interval by Student's t, NaN for fewer than two. Peers of one run are no
// independent samples: they never count.
type estimate struct {
	Mean, Half float64
	N          int
}

// confidence of all intervals.
const confidence = 0.95

// estimateOf returns the estimate of values; of none its mean is NaN.
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

// String writes the mean to three digits; with an interval, to the place of the
// interval's second one, so that both end at the same place.
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

// decimal writes v to the place of the last of some digits of scale, without an
// exponent where people can do without.
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

// A ratio is a ratio of positive numbers that belong together in pairs, with
// its 95 % interval: of the mean of the logarithms.
type ratio struct {
	Mean, Low, High float64
	N               int
}

// ratioOf compares the numbers of two algorithms, paired by seed.
func ratioOf(a, b map[uint64]float64, seeds []uint64) ratio {
	var logs []float64
	for _, seed := range seeds {
		x, ok := a[seed]
		y, both := b[seed]
		if ok && both && x > 0 && y > 0 {
			logs = append(logs, math.Log(x/y))
		}
	}
	e := estimateOf(logs)
	return ratio{Mean: math.Exp(e.Mean), Low: math.Exp(e.Mean - e.Half), High: math.Exp(e.Mean + e.Half), N: e.N}
}

// certain reports whether the interval does not contain 1.
func (r ratio) certain() bool { return r.N > 1 && (r.Low > 1 || r.High < 1) }
