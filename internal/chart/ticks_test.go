package chart

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/plot"
)

// An axis contains its values, also if there is only one value, only zero or no value.
func TestScale(t *testing.T) {
	none := math.Inf(1)
	for _, c := range []struct {
		low, high   float64
		positive    bool
		least, most float64
		logarithmic bool
	}{
		{0.5, 2, true, 0.5, 2, true},
		{0.1, math.Nextafter(0.1, 1), true, 0, 0.2, false},
		{0, 2, false, 0, 2, false},
		{-2, -2, false, -4, 0, false},
		{0, 0, false, 0, 1, false},
		{none, -none, true, 0, 1, false},
	} {
		p := NewPanel("x", "y")
		p.Y.Min, p.Y.Max = c.low, c.high
		if c.positive {
			Scale(p)
		} else {
			ScaleLinearly(p)
		}
		_, logarithmic := p.Y.Scale.(plot.LogScale)
		if p.Y.Min != c.least || math.Abs(p.Y.Max-c.most) > 1e-12 || logarithmic != c.logarithmic {
			t.Errorf("%v to %v: an axis from %v to %v, logarithmic %v", c.low, c.high, p.Y.Min, p.Y.Max, logarithmic)
		}
	}
}

func TestTicks(t *testing.T) {
	labels := func(lo, hi float64, logarithmic bool) (s []string) {
		ticks := round125{}.Ticks(lo, hi)
		if logarithmic {
			ticks = Decades{}.Ticks(lo, hi)
		}
		for _, t := range ticks {
			if t.Label != "" {
				s = append(s, t.Label)
			}
		}
		return s
	}
	for _, c := range []struct {
		lo, hi      float64
		logarithmic bool
		want        []string
	}{
		{0, 600, false, []string{"0", "100", "200", "300", "400", "500", "600"}},
		{0, 3, false, []string{"0", "0.5", "1", "1.5", "2", "2.5", "3"}},
		{5, 5, false, []string{"5"}},
		{1e20, 1e20 + 1e5, false, []string{"1e+20"}},
		{1e20, 1e20 + 1e5, true, []string{"1e+20"}},
		{0.05, 2, true, []string{"0.05", "0.1", "0.2", "0.5", "1", "2"}},
		{1.45, 3.1, true, []string{"1.5", "2", "2.5", "3"}},
		{2e-5, 0.6, true, []string{"0.0001", "0.001", "0.01", "0.1"}},
		{7, 2100, true, []string{"10", "100", "1000"}},
		{0.7, 60, true, []string{"1", "2", "5", "10", "20", "50"}},
	} {
		if diff := cmp.Diff(c.want, labels(c.lo, c.hi, c.logarithmic)); diff != "" {
			t.Errorf("%g..%g: %s", c.lo, c.hi, diff)
		}
	}
}
