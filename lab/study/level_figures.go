package study

import (
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"gossiptrainer/internal/cells"
	"gossiptrainer/internal/chart"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/record"
)

// goalsOf returns the targets of one metric, from the easiest.
func goalsOf(s *Study, metric string) []record.Target {
	return slices.DeleteFunc(s.Goals(), func(t record.Target) bool { return t.Metric != metric })
}

// metrics are those of targets.
var metrics = []string{record.TrainingLoss, record.TestAccuracy}

// levelTable has the time of each algorithm to each target of a network, and in brackets the speedup over the
// reference. It has no rows if each metric has one target, which the other tables show.
func levelTable(s *Study, network cells.Network, groups []*Group) table {
	t := table{Name: "targets-" + slug(network.Name), Texts: 1, Head: []string{"Algorithm"},
		Caption: fmt.Sprintf("On %s: seconds to each target [95 %% interval] (speedup over %s)",
			network.Name, referenceOf(groups))}
	if len(s.Levels) == 0 {
		return t
	}
	for _, target := range s.Goals() {
		t.Head = append(t.Head, target.String())
	}
	for _, g := range groups {
		row := []string{g.Label}
		for _, target := range s.Goals() {
			text := timeToTarget(g, reference(alike(groups, g)), target)
			if why := g.missing(target); why != "" {
				text = why
			}
			row = append(row, text)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// levels draws the times of a network to all targets, nil if each metric has one.
func (s *Study) levels(network cells.Network, groups []*Group) *chart.Figure {
	if len(s.Levels) == 0 {
		return nil
	}
	f := &chart.Figure{Name: "targets-" + slug(network.Name), Legend: legendOf(groups), Caption: fmt.Sprintf(
		"On %s: time to each target where every run reaches it, harder targets to the right; upright lines are 95 %% "+
			"intervals. Where lines cross, the order depends on the target.", network.Name)}
	for _, metric := range metrics {
		if goals := goalsOf(s, metric); len(goals) > 1 {
			f.Panels = append(f.Panels, levelPanel(groups, metric, goals))
		}
	}
	return f
}

// levelPanel draws the times to the targets of one metric.
func levelPanel(groups []*Group, metric string, goals []record.Target) *chart.Panel {
	p := &chart.Panel{Plot: chart.NewPanel("target: "+metric, "s to the target"),
		Words: "Curves of the seconds to " + metric}
	styles := chart.Styles(labelsOf(groups))
	for i, g := range groups {
		var points plotter.XYs
		var told []string
		for _, target := range goals {
			if !g.reaches(target) {
				continue
			}
			e := g.timeTo(target)
			told = append(told, fmt.Sprintf("%v to %g", e, target.Value))
			if !e.IsBound() { // a bound is no point of a curve
				points = append(points, plotter.XY{X: target.Value, Y: e.Mean})
				p.Whisker(target.Value, e, styles[i].Color)
			}
		}
		p.Words += "; " + g.Label + ": " + orNone(strings.Join(told, ", "))
		if len(points) > 0 {
			p.Line(points, styles[i])
			p.Dots(points, styles[i].Color)
		}
	}
	ticks := make([]plot.Tick, len(goals))
	for i, target := range goals {
		ticks[i] = plot.Tick{Value: target.Value, Label: chart.Label(target.Value)}
	}
	p.X.Tick.Marker = plot.ConstantTicks(ticks)
	first, last := goals[0].Value, goals[len(goals)-1].Value
	p.X.Min, p.X.Max = min(first, last), max(first, last)
	chart.Margin(p.Plot, 0.04)
	if metric == record.TrainingLoss { // a lower loss is harder
		p.X.Scale = plot.InvertedScale{Normalizer: plot.LinearScale{}}
	}
	if len(p.Shapes) > 0 {
		chart.Logarithmic(p.Plot)
	} else {
		chart.ScaleLinearly(p.Plot)
	}
	p.Words += "."
	return p
}

// steady says in a sentence whether the same algorithm is first at all targets of a network, and at how many of them
// the intervals say so. It is "" with one target.
func steady(s *Study, network string, groups []*Group) string {
	var first []string
	reached, sure := 0, 0
	for _, target := range s.Goals() {
		g, _ := fastestOf(groups, target)
		if g == nil {
			continue
		}
		reached++
		if !slices.Contains(first, g.Label) {
			first = append(first, g.Label)
		}
		if surely(g, groups, target) {
			sure++
		}
	}
	all := len(s.Goals())
	if all < 2 || reached == 0 {
		return ""
	}
	text := fmt.Sprintf("On %s %s has the least mean time at each of %s", network, first[0],
		human.Count(reached, "target"))
	if len(first) > 1 {
		text = fmt.Sprintf("On %s the least mean time depends on the target: %s", network, strings.Join(first, ", "))
	}
	text += fmt.Sprintf("; at %d of them the intervals tell the first from all others.", sure)
	if reached < all {
		text += fmt.Sprintf(" At %s no first is known.", human.Part(all-reached, all, "target"))
	}
	return text
}

// surely reports whether the interval of every ratio says that g reaches a target before the others that reach it.
func surely(g *Group, groups []*Group, target record.Target) bool {
	for _, other := range groups {
		if other != g && other.reaches(target) && judge(g.sooner(other, target), 1) != supported {
			return false
		}
	}
	return true
}
