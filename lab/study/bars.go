package study

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"gossiptrainer/internal/cells"
	"gossiptrainer/internal/chart"
	"gossiptrainer/internal/record"
)

// A part is one part of the time of a round.
type part struct {
	name  string
	color color.Color
	of    func(record.Moment) float64 // milliseconds
}

// bars draws the time to each target with a bar for each algorithm, or the reason why it has none. It returns nil if
// there is no target.
func (s *Study) bars(network cells.Network, groups []*Group) *chart.Figure {
	f := &chart.Figure{Name: "bars-" + slug(network.Name), Caption: fmt.Sprintf("On %s: time to the target, geometric "+
		"mean with its 95 %% interval, where all runs reached it.", network.Name)}
	for _, target := range s.Targets.List() {
		f.Panels = append(f.Panels, timeBars(groups, target))
	}
	if len(f.Panels) == 0 {
		return nil
	}
	for _, e := range legendOf(groups) {
		f.Legend = append(f.Legend, filled(e.Name, e.Style.Color))
	}
	return f
}

// filled returns the entry of bars in a legend.
func filled(name string, c color.Color) chart.Entry {
	return chart.Entry{Name: name, Style: draw.LineStyle{Color: c, Width: vg.Points(7)}}
}

// parts draws the parts of a round. It is a figure of its own, with its own legend and colours, because those of
// algorithms mean nothing in it.
func (s *Study) parts(network cells.Network, groups []*Group) *chart.Figure {
	f := &chart.Figure{Name: "parts-" + slug(network.Name), Panels: []*chart.Panel{partBars(s, groups)},
		Caption: fmt.Sprintf("Parts of a round on %s, as means over peers, rounds and seeds.", network.Name)}
	for _, part := range partsOfRound(groups) {
		f.Legend = append(f.Legend, filled(part.name, part.color))
	}
	f.Legend = append(f.Legend, chart.Entry{Name: "least time of a round", Style: leastStyle})
	return f
}

// leastStyle is that of the least time of a round, across its bar.
var leastStyle = draw.LineStyle{Width: vg.Points(2), Color: color.Black}

// timeBars draws the times to a target.
func timeBars(groups []*Group, target record.Target) *chart.Panel {
	p := &chart.Panel{Plot: chart.NewPanel("", "s to "+target.String()),
		Words: "Bars of the seconds to " + target.String()}
	highest, styles := 0.0, chart.Styles(labelsOf(groups))
	for i, g := range groups {
		if !g.reaches(target) {
			continue
		}
		e := g.timeTo(target)
		if e.IsBound() { // words take the place of the bar
			highest = max(highest, e.High)
			continue
		}
		p.Bar(i, 0, e.Mean, styles[i].Color)
		p.Whisker(float64(i), e, color.White) // visible on any bar
		p.Whisker(float64(i), e, color.Black)
		highest = max(highest, p.Y.Max)
	}
	nameBars(p, groups, highest)
	for i, g := range groups {
		words, e := g.missing(target), g.timeTo(target)
		switch {
		case words != "":
			addWords(p, i, words)
		case e.IsBound():
			words = e.Range()
			addWords(p, i, words)
		default:
			words = e.String()
		}
		p.Words += fmt.Sprintf("; %s: %s", g.Label, words)
	}
	return p
}

// missing returns the reason why a group has no time to a target, or "" if it has one.
func (g *Group) missing(target record.Target) string {
	switch {
	case g.reaches(target):
		return ""
	case len(g.runs) == 0:
		return g.fate()
	case !g.tells(target):
		return "not known"
	case len(g.values(timeOf(target))) > 0:
		return "not in every run"
	}
	return "not reached"
}

// nameBars puts the labels of the groups below their bars and ends the axis above the highest bar.
func nameBars(p *chart.Panel, groups []*Group, highest float64) {
	p.Names = labelsOf(groups)
	p.NominalX(p.Names...)
	p.X.Tick.Label.Rotation = slant(len(groups))
	p.X.Padding = vg.Points(4) // keeps labels off the bars
	p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XRight, draw.YTop
	if len(groups) >= chart.Crowd {
		p.X.Tick.Label.YAlign = draw.YCenter * 2 / 3 // without what letters have below the line
	}
	p.X.Min, p.X.Max = -0.6, float64(len(groups))-0.4
	p.Y.Min, p.Y.Max = 0, highest*headroom
	if highest == 0 { // hide the axis, because it has no bars
		p.Y.Max = 1
		p.Y.Tick.Marker = plot.ConstantTicks{}
	}
}

// addWords writes the reason in the place of a missing bar.
func addWords(p *chart.Panel, at int, words string) {
	p.Note(plotter.XY{X: float64(at), Y: headroom * p.Y.Max / 30}, words)
}

// headroom keeps bars and their lines off the upper edge.
const headroom = 1.04

// slant returns the angle of the labels for a number of bars, in radians. Many labels must be steep so as not to
// overlap.
func slant(bars int) float64 {
	const many = 8
	switch {
	case bars >= chart.Crowd:
		return math.Pi / 2
	case bars > many:
		return math.Pi / 4
	}
	return math.Pi / 7
}

// partsOfRound returns the parts of a round, from below. Hand-over is a part where any run has a script. No algorithm
// has one of their colours.
func partsOfRound(groups []*Group) []part {
	colors := chart.PartColors()
	parts := []part{
		{"gradient", colors[0], func(m record.Moment) float64 { return 1e3 * m.Compute.Seconds() }},
		{"coding", colors[2], func(m record.Moment) float64 { return 1e3 * m.Codec.Seconds() }},
		{"waiting for messages", colors[3], func(m record.Moment) float64 { return 1e3 * m.Wait.Seconds() }},
	}
	over := part{"hand-over to the script", colors[1],
		func(m record.Moment) float64 { return 1e3 * m.HandOver.Seconds() }}
	if slices.ContainsFunc(groups, func(g *Group) bool { return g.meanOf(over.of) > 0 }) {
		parts = slices.Insert(parts, 1, over)
	}
	return parts
}

// partBars stacks the parts of a round and marks its least time.
func partBars(s *Study, groups []*Group) *chart.Panel {
	p := &chart.Panel{Plot: chart.NewPanel("", "ms per round"), Words: "Bars of the parts of a round, in ms"}
	for i, g := range groups {
		if len(g.runs) == 0 {
			continue
		}
		low := 0.0
		p.Words += "; " + g.Label + ":"
		for _, part := range partsOfRound(groups) {
			mean := g.meanOf(part.of)
			p.Bar(i, low, low+mean, part.color)
			low += mean
			p.Words += fmt.Sprintf(" %s %.3g", part.name, mean)
		}
		if e := g.geomean(s.leastPerRound(g)); e.N > 0 {
			x := float64(i)
			p.Line(plotter.XYs{{X: x - 0.46, Y: e.Mean}, {X: x + 0.46, Y: e.Mean}}, leastStyle)
		}
	}
	nameBars(p, groups, max(0, p.Y.Max))
	for i, g := range groups {
		if len(g.runs) == 0 {
			fate := g.fate()
			addWords(p, i, fate)
			p.Words += "; " + g.Label + ": " + fate
		}
	}
	return p
}

// meanOf returns the mean over the moments of all runs.
func (g *Group) meanOf(of func(record.Moment) float64) float64 {
	sum, n := 0.0, 0
	for _, cell := range g.Cells {
		run := g.runs[cell.Seed]
		if run == nil {
			continue
		}
		for _, m := range run.moments {
			sum += of(m)
			n++
		}
	}
	return sum / float64(max(1, n))
}
