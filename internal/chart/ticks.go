package chart

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// round125 marks a linear axis at about six multiples of 1, 2 or 5 times a
// power of ten.
type round125 struct{}

// Narrow is the relative length of an axis below which it has one tick. Labels have six digits, and a step below their
// precision would give endless ticks.
const Narrow = 1e-9

// Ticks implements plot.Ticker.
func (round125) Ticks(lo, hi float64) []plot.Tick {
	if !(hi-lo > Narrow*max(math.Abs(lo), math.Abs(hi))) {
		return []plot.Tick{{Value: lo, Label: Label(lo)}}
	}
	raw := (hi - lo) / 6
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	step := 10 * power
	for _, m := range []float64{1, 2, 5} {
		if raw <= m*power {
			step = m * power
			break
		}
	}
	var ticks []plot.Tick
	for i := math.Ceil(lo / step); i*step <= hi*(1+1e-9); i++ {
		ticks = append(ticks, plot.Tick{Value: i * step, Label: Label(i * step)})
	}
	return ticks
}

// Decades marks a logarithmic axis at 1 to 9 times each power of ten. It labels 1, 2 and 5, or only 1 if there is no
// room for all. A short axis with only one or two such labels is marked like a linear one.
type Decades struct{}

const (
	fewest  = 3  // labels show that an axis is logarithmic
	letters = 26 // characters fit along the narrowest axis, one of three side by side
)

// Ticks implements plot.Ticker.
func (Decades) Ticks(lo, hi float64) []plot.Tick {
	var ticks []plot.Tick
	labels, fit, last := 0, true, plot.Tick{}
	for e := math.Floor(math.Log10(lo)); e <= math.Ceil(math.Log10(hi)); e++ {
		for m := 1; m < 10; m++ {
			v := float64(m) * math.Pow(10, e)
			if v < lo*(1-1e-9) || v > hi*(1+1e-9) {
				continue
			}
			t := plot.Tick{Value: v}
			if m == 1 || m == 2 || m == 5 {
				t.Label = Label(v)
				apart := letters * math.Log(v/last.Value) / math.Log(hi/lo) // infinite before the first label
				fit = fit && apart >= float64(len(last.Label)+len(t.Label))/2+1
				last = t
				labels++
			}
			ticks = append(ticks, t)
		}
	}
	switch {
	case labels < fewest:
		return round125{}.Ticks(lo, hi)
	case !fit:
		for i := range ticks {
			if ticks[i].Label != Label(math.Pow(10, math.Round(math.Log10(ticks[i].Value)))) {
				ticks[i].Label = ""
			}
		}
	}
	return ticks
}

// Label writes a number at an axis, with six digits.
func Label(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// Scale sets the vertical axis of a panel: logarithmic if all values are positive and differ.
func Scale(p *plot.Plot) {
	if p.Y.Min > 0 && differ(p) {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, Decades{}
		return
	}
	ScaleLinearly(p)
}

// ScaleLinearly sets the vertical axis of a panel. An axis of one value gets room around it.
func ScaleLinearly(p *plot.Plot) {
	switch low, high := p.Y.Min, p.Y.Max; {
	case differ(p):
	case low <= high && low != 0:
		p.Y.Min, p.Y.Max = min(0, 2*low), max(0, 2*high)
	default:
		p.Y.Min, p.Y.Max = 0, 1
	}
}

// differ reports whether a panel has several values.
func differ(p *plot.Plot) bool {
	return p.Y.Max-p.Y.Min > Narrow*max(math.Abs(p.Y.Min), math.Abs(p.Y.Max))
}

// Margin keeps the contents of a panel off its left and right edge.
func Margin(p *plot.Plot, share float64) {
	span := p.X.Max - p.X.Min
	if span == 0 {
		span = 1 // one level
	}
	p.X.Min -= share * span
	p.X.Max += share * span
}
