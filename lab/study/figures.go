package study

import (
	"fmt"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"gossiptrainer/internal/cells"
	"gossiptrainer/internal/chart"
	"gossiptrainer/internal/record"
)

// A quantity is the vertical axis of curves: its label, and its values at moments. A run without values has no curve.
type quantity struct {
	name string
	of   func(*trace) ([]record.Moment, []float64)
}

func theLoss() quantity {
	return quantity{"training loss", func(t *trace) ([]record.Moment, []float64) {
		return t.moments, record.Smooth(t.moments)
	}}
}

func theGap() quantity {
	return quantity{"largest neighbour gap", func(t *trace) ([]record.Moment, []float64) {
		if !record.MeasuresGaps(t.moments) {
			return nil, nil
		}
		gaps := make([]float64, len(t.moments))
		for i, m := range t.moments {
			gaps[i] = m.Gap
		}
		return t.moments, gaps
	}}
}

func theAccuracy() quantity {
	return quantity{"accuracy on the test set", func(t *trace) ([]record.Moment, []float64) {
		var at []record.Moment
		var values []float64
		for _, p := range t.curve {
			if record.Number(p.Accuracy) != nil {
				m := record.MomentAt(t.moments, float64(p.Round))
				m.Round = float64(p.Round)
				at, values = append(at, m), append(values, p.Accuracy)
			}
		}
		return at, values
	}}
}

// An abscissa is the horizontal axis of curves.
type abscissa struct {
	axis chart.Axis
	name string
	of   func(record.Moment) float64
}

func byTime() abscissa {
	return abscissa{chart.AxisSeconds, "time (s)", func(m record.Moment) float64 { return m.Time.Seconds() }}
}

func byBytes() abscissa {
	return abscissa{chart.AxisBytes, "sent per peer (MB)",
		func(m record.Moment) float64 { return float64(m.Sent.Wire) / 1e6 }}
}

func byRound() abscissa {
	return abscissa{chart.AxisRounds, "round", func(m record.Moment) float64 { return m.Round }}
}

// abscissae are the axes of all curves of losses and accuracies.
func abscissae() []abscissa { return []abscissa{byTime(), byBytes(), byRound()} }

// averaged explains curves and bands in captions.
const averaged = "Lines are means over the seeds; bands go from the least to the largest seed."

// Figures draws the study. For each network it shows loss and accuracy against time, bytes and rounds. Beside them are
// the times to the targets and the parts of a round, and where there are several, levels of targets and numbers of
// workers. The last figure shows the gap between neighbours, if it is on record.
func (s *Study) Figures() []*chart.Figure {
	var all []*chart.Figure
	for _, network := range s.Networks {
		if groups := s.on(network.Name); len(groups) > 0 {
			all = append(all, s.figuresOn(network, groups)...)
		}
	}
	return append(all, s.overall()...)
}

// overall returns the figures that belong to no network.
func (s *Study) overall() []*chart.Figure {
	var all []*chart.Figure
	for _, f := range []*chart.Figure{acrossNetworks(s), gaps(s)} {
		if f != nil {
			all = append(all, f)
		}
	}
	return all
}

// gaps draws the distance of neighbours against rounds, on the first network. It returns nil if no run measures it.
func gaps(s *Study) *chart.Figure {
	groups := s.on(s.Groups[0].Network.Name)
	if !anyHas(groups, theGap()) {
		return nil
	}
	text := fmt.Sprintf("Largest gap on %s, which is the largest difference between the models of two neighbours",
		groups[0].Network.Name)
	if slices.ContainsFunc(groups, func(g *Group) bool { return len(g.runs) > 0 && !g.has(theGap()) }) {
		text += " (no line: the algorithm measures none)"
	}
	return &chart.Figure{Name: "gap", Legend: legendOf(groups), Caption: text + ". " + averaged,
		Panels: []*chart.Panel{curves(groups, byRound(), theGap())}}
}

// figuresOn draws the figures of one network.
func (s *Study) figuresOn(network cells.Network, groups []*Group) []*chart.Figure {
	loss := curvesOf(groups, theLoss())
	loss.Name, loss.Caption = "loss-"+slug(network.Name), fmt.Sprintf("Training loss on %s against time, against the "+
		"bytes that a peer sends, and against rounds; each point is the mean of the %d records around it, "+
		"of fewer at both ends. %s", network.Name,
		record.Smoothing, averaged)
	cutLosses(groups, loss.Panels...)
	all := []*chart.Figure{loss}
	if anyHas(groups, theAccuracy()) {
		accuracy := curvesOf(groups, theAccuracy())
		accuracy.Name, accuracy.Caption = "accuracy-"+slug(network.Name), fmt.Sprintf("Accuracy on the test set on %s "+
			"against time, against the bytes that a peer sends, and against rounds, without smoothing. %s", network.Name,
			averaged)
		all = append(all, accuracy)
	}
	for _, f := range []*chart.Figure{
		s.bars(network, groups), s.parts(network, groups), s.levels(network, groups), s.scaling(network),
	} {
		if f != nil {
			all = append(all, f)
		}
	}
	return all
}

// curvesOf draws a quantity against all axes.
func curvesOf(groups []*Group, y quantity) *chart.Figure {
	f := &chart.Figure{Legend: legendOf(groups)}
	for _, x := range abscissae() {
		f.Panels = append(f.Panels, curves(groups, x, y))
	}
	return f
}

func anyHas(groups []*Group, q quantity) bool {
	return slices.ContainsFunc(groups, func(g *Group) bool { return g.has(q) })
}

// has reports whether the runs of a group have a quantity on record.
func (g *Group) has(q quantity) bool {
	for _, run := range g.runs {
		if at, _ := q.of(run); len(at) > 0 {
			return true
		}
	}
	return false
}

// legendOf returns a legend entry for every group.
func legendOf(groups []*Group) []chart.Entry {
	all, styles := make([]chart.Entry, len(groups)), chart.Styles(labelsOf(groups))
	for i, g := range groups {
		all[i] = chart.Entry{Name: g.Label, Style: styles[i]}
	}
	return all
}

// curves draws for each group the mean over the seeds as a line and their range as
// a band.
func curves(groups []*Group, x abscissa, y quantity) *chart.Panel {
	p := &chart.Panel{Plot: chart.NewPanel(x.name, y.name), Axis: x.axis}
	logX := farApart(groups, x, y)
	if logX {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, chart.Decades{}
	}
	positive := y.name != theAccuracy().name
	words := fmt.Sprintf("Curves of %s against %s", y.name, x.name)
	styles := chart.Styles(labelsOf(groups))
	for i, g := range groups {
		all := g.curves(x, y)
		mean, band := combine(all, logX)
		if len(mean) == 0 {
			words += fmt.Sprintf("; %s: none", g.Label)
			continue
		}
		words += fmt.Sprintf("; %s: from %.3g at %.3g to %.3g at %.3g", g.Label, mean[0].Y, mean[0].X,
			mean[len(mean)-1].Y, mean[len(mean)-1].X)
		for _, at := range band {
			positive = positive && at.Y > 0
		}
		style := styles[i]
		if len(all) > 1 {
			p.Band(band, style)
		}
		p.Line(mean, style)
		if mean[0].X == mean[len(mean)-1].X { // a line of one point has no length
			p.Dots(mean[:1], style.Color)
		}
	}
	if positive {
		chart.Scale(p.Plot)
	} else {
		chart.ScaleLinearly(p.Plot)
	}
	p.Words = words + "."
	return p
}

// curves returns the curves of the runs that have one.
func (g *Group) curves(x abscissa, y quantity) []plotter.XYs {
	var all []plotter.XYs
	for _, cell := range g.Cells {
		if run := g.runs[cell.Seed]; run != nil {
			if at, values := y.of(run); len(at) > 0 {
				all = append(all, curveOf(at, values, x.of))
			}
		}
	}
	return all
}

// farApart reports whether the curves end at such different x that a linear axis would squeeze some of them.
func farApart(groups []*Group, x abscissa, y quantity) bool {
	const far = 8
	var ends []float64
	for _, g := range groups {
		for _, curve := range g.curves(x, y) {
			if len(curve) == 0 || curve[0].X <= 0 {
				return false
			}
			ends = append(ends, curve[len(curve)-1].X)
		}
	}
	return len(ends) > 0 && slices.Max(ends) >= far*slices.Min(ends)
}
