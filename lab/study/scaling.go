package study

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"gossiptrainer/internal/cells"
	"gossiptrainer/internal/chart"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/stats"
)

// A family is one algorithm with several numbers of workers on one network.
type family struct {
	name  string
	graph string // the kind of topology
	at    []size // by number of workers
}

// A size is a member of a family: its measured and its predicted milliseconds per round.
type size struct {
	workers   int
	group     *Group
	took      stats.Interval
	predicted float64 // 0: there is no formula
}

// sizeKeys are the settings in which the members of a family differ.
var sizeKeys = []string{"topology.size", "topology.rows", "topology.cols"}

// families returns the algorithms of a network that run with several numbers of workers.
func families(s *Study, network string) []family {
	var all []family
	index := map[string]int{}
	for _, g := range s.on(network) {
		setup := setup(s, g)
		if setup == nil {
			continue
		}
		rest := maps.Clone(setup.Settings)
		for _, key := range sizeKeys {
			delete(rest, key)
		}
		key := fmt.Sprint(setup.Algorithm, setup.Messages, rest) // a map prints in the order of its keys
		i, known := index[key]
		if !known {
			i = len(all)
			index[key] = i
			name := setup.Algorithm + ", " + setup.Messages
			all = append(all, family{name: name, graph: setup.Settings["topology.kind"]})
		}
		all[i].at = append(all[i].at, size{setup.Workers, g, g.geomean(perRound), 1e3 * setup.Predicted(gradientOf(s, g))})
	}
	all = slices.DeleteFunc(all, func(f family) bool { return len(f.at) < 2 })
	nameGraphs(all)
	for _, f := range all {
		slices.SortStableFunc(f.at, func(a, b size) int { return a.workers - b.workers })
	}
	return all
}

// nameGraphs adds the graph to the names of families if they differ in it.
func nameGraphs(all []family) {
	if !slices.ContainsFunc(all, func(f family) bool { return f.graph != all[0].graph }) {
		return
	}
	for i, f := range all {
		all[i].name = f.name + ", " + f.graph
	}
}

// gradientOf returns the mean time of a gradient in the runs of g, in seconds.
func gradientOf(s *Study, g *Group) float64 {
	return g.estimate(func(_ cells.Cell, run *trace) *float64 { v := s.gradient(run); return &v }).Mean
}

// ratio returns the measured time over the predicted one, NaN if one of them is unknown.
func (p size) ratio() float64 {
	if p.predicted == 0 || p.took.N == 0 {
		return math.NaN()
	}
	return p.took.Mean / p.predicted
}

// scalingTable has a row for each number of workers of each family.
func scalingTable(s *Study) table {
	t := table{Name: "scaling", Texts: 2, Caption: "Time per round against the number of workers, and the formula",
		Head: []string{"Algorithm", "network", "workers", "ms per round", "by the formula", "ratio"}}
	for _, network := range s.Networks {
		for _, f := range families(s, network.Name) {
			for _, p := range f.at {
				formula, ratio := "-", "-"
				if p.predicted > 0 {
					formula = human.Digits(p.predicted, 3)
				}
				if r := p.ratio(); !math.IsNaN(r) {
					ratio = fmt.Sprintf("%.3f", r)
				}
				t.Rows = append(t.Rows, []string{f.name, network.Name, fmt.Sprint(p.workers), p.took.String(), formula, ratio})
			}
		}
	}
	return t
}

// scaling draws the time of a round, and the times to the hardest targets, against the number of workers. It returns
// nil if no algorithm has several numbers.
func (s *Study) scaling(network cells.Network) *chart.Figure {
	families := families(s, network.Name)
	if len(families) == 0 {
		return nil
	}
	f := &chart.Figure{Name: "scaling-" + slug(network.Name), Caption: fmt.Sprintf("On %s, against the number of "+
		"workers: time of a round, with the formula as thin lines, and times to the targets where every run reaches "+
		"them. Upright lines are 95 %% intervals.", network.Name)}
	styles := stylesOf(families)
	for i, one := range families {
		f.Legend = append(f.Legend, chart.Entry{Name: one.name, Style: styles[i]})
	}
	f.Panels = append(f.Panels, scalingPanel(families, "ms per round",
		func(p size) stats.Interval { return p.took }))
	for _, line := range formulas(families) {
		f.Panels[0].Line(line.Points, line.Style)
	}
	for _, target := range s.Targets.List() {
		p := scalingPanel(families, "s to "+target.String(), func(p size) stats.Interval {
			if !p.group.reaches(target) {
				return stats.Interval{Mean: math.NaN()}
			}
			return p.group.timeTo(target)
		})
		if len(p.Shapes) > 0 {
			f.Panels = append(f.Panels, p)
		}
	}
	return f
}

// stylesOf returns the styles of the lines of families.
func stylesOf(families []family) []draw.LineStyle {
	names := make([]string, len(families))
	for i, f := range families {
		names[i] = f.name
	}
	return chart.Styles(names)
}

// formulas returns the lines of predicted times.
func formulas(families []family) []chart.Shape {
	var all []chart.Shape
	styles := stylesOf(families)
	for i, f := range families {
		var points plotter.XYs
		for _, p := range f.at {
			if p.predicted > 0 {
				points = append(points, plotter.XY{X: float64(p.workers), Y: p.predicted})
			}
		}
		style := styles[i]
		style.Width, style.Dashes = vg.Points(0.6), nil
		if len(points) > 1 {
			all = append(all, chart.Shape{Points: points, Style: style})
		}
	}
	return all
}

// scalingPanel draws a value of each family against the number of workers on logarithmic axes.
func scalingPanel(families []family, label string, of func(size) stats.Interval) *chart.Panel {
	p := &chart.Panel{Plot: chart.NewPanel("workers", label),
		Words: "Curves of " + label + " against the number of workers"}
	var ticks []plot.Tick
	styles := stylesOf(families)
	for i, f := range families {
		var points plotter.XYs
		var told []string
		for _, at := range f.at {
			x := float64(at.workers)
			if !slices.ContainsFunc(ticks, func(t plot.Tick) bool { return t.Value == x }) {
				ticks = append(ticks, plot.Tick{Value: x, Label: fmt.Sprint(at.workers)})
			}
			e := of(at)
			if !(e.Mean > 0) {
				continue
			}
			points = append(points, plotter.XY{X: x, Y: e.Mean})
			told = append(told, fmt.Sprintf("%v at %d", e, at.workers))
			p.Whisker(x, e, styles[i].Color)
		}
		p.Words += "; " + f.name + ": " + orNone(strings.Join(told, ", "))
		if len(points) > 0 {
			p.Line(points, styles[i])
			p.Dots(points, styles[i].Color)
		}
	}
	if len(p.Shapes) > 0 {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.ConstantTicks(ticks)
		chart.Logarithmic(p.Plot)
	}
	p.Words += "."
	return p
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}
