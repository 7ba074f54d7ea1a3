package stats

import (
	"math"
	"slices"
	"testing"
)

func around(mean, half float64, n int) Interval { return Interval{mean, mean - half, mean + half, n} }

func TestMean(t *testing.T) {
	if i := Mean([]float64{1, 2, 3}); i.Mean != 2 || math.Abs(i.Half()-4.302652729911275/math.Sqrt(3)) > 1e-9 {
		t.Errorf("%+v, want 2 and the t quantile 4.30 over the root of 3", i)
	}
	if i := Mean([]float64{7}); i.Mean != 7 || !math.IsNaN(i.Half()) || i.PlusMinus() != "7.00" {
		t.Errorf("%+v of one value", i)
	}
	if i := Mean(nil); i.PlusMinus() != "-" || i.String() != "-" {
		t.Errorf("%+v of no value", i)
	}
	for want, i := range map[string]Interval{
		"12345 ± 12":      around(12345.4, 12.3, 3),
		"1.500 ± 0.062":   around(1.5, 0.0617, 3),
		"3261 ± 0":        around(3261.2, 0, 3),
		"0.16 ± 0.10":     around(0.1631, 0.1, 3),
		"0 ± 0":           around(0, 0, 3),
		"1e+09 ± 2.5e+08": around(1e9, 2.5e8, 3),
	} {
		if got := i.PlusMinus(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestRatio(t *testing.T) {
	over := func(x, y float64) float64 { return x / y }
	a, b := map[uint64]float64{1: 2, 2: 8, 3: 5}, map[uint64]float64{1: 1, 2: 2, 4: 1}
	ratios := Paired(a, b, over)
	if i := Ratio(ratios); !slices.Equal(ratios, []float64{2, 4}) || math.Abs(i.Mean-math.Sqrt(8)) > 1e-12 ||
		i.Against(1) != 0 {
		t.Errorf("%v: %+v, want the root of 2·4, uncertain", ratios, i)
	}
	if i := Ratio([]float64{2, 2.01}); i.Against(1) != 1 || i.Against(2) != 0 || i.Against(3) != -1 {
		t.Errorf("%+v is not certain", i)
	}
	if i := Ratio([]float64{2, 0}); i.Mean != 0 || i.Against(1) != 0 || i.N != 2 {
		t.Errorf("%+v, want 0 without an interval", i)
	}
}

// An interval is never finer than the measurement. One measurement gives at most a bound.
func TestWithin(t *testing.T) {
	wide := around(2, 1, 3).Within(0.5, 2.5)
	if wide != (Interval{2, 0.5, 3, 3}) {
		t.Errorf("%+v", wide)
	}
	one := Interval{2, math.NaN(), math.NaN(), 1}
	if i := one.Within(1, 3); !math.IsNaN(i.Low) || i.IsBound() {
		t.Errorf("%+v of one seed", i)
	}
	for words, i := range map[string]Interval{
		"at most 3.00": one.Within(0, 3), "at least 1.00": one.Within(1, math.Inf(1)),
		"any number": one.Within(0, math.Inf(1)),
	} {
		if !i.IsBound() || i.String() != words {
			t.Errorf("%+v: %q, want %q", i, i, words)
		}
	}
}

func TestGeometricMeanAboveZeroIsNeverWrittenAsZero(t *testing.T) {
	for _, test := range []struct {
		g        Interval
		text, to string
	}{
		{Ratio([]float64{0.198, 0.404}), "0.28 [0.0030, 26]", "0.0030 to 26"},
		{Ratio([]float64{0.511, 0.795}), "0.64 [0.038, 10.6]", "0.038 to 10.6"},
		{Ratio([]float64{7.8, 7.19, 7.68}), "7.55 [6.78, 8.41]", "6.78 to 8.41"},
		{Interval{Mean: 1.5, Low: 0, High: 3, N: 2}, "at most 3.00", "at most 3.00"},
		{Interval{Mean: 2, Low: math.NaN(), High: math.NaN(), N: 1}, "2.00", ""},
	} {
		if text := test.g.String(); text != test.text {
			t.Errorf("%+v: want %q, got %q", test.g, test.text, text)
		}
		if test.to != "" && test.g.Range() != test.to {
			t.Errorf("%+v: want the interval %q, got %q", test.g, test.to, test.g.Range())
		}
	}
}
