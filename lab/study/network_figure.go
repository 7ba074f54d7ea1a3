package study

import (
	"fmt"
	"strings"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"gossiptrainer/internal/chart"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/stats"
)

// acrossNetworks draws the times to the targets on all networks side by side, with a line for each algorithm. It
// returns nil if there is one network or no target.
func acrossNetworks(s *Study) *chart.Figure {
	var names []string
	for _, network := range s.Networks {
		if len(s.on(network.Name)) > 0 {
			names = append(names, network.Name)
		}
	}
	if len(names) < 2 {
		return nil
	}
	f := &chart.Figure{Name: "networks", Caption: "Time to the target on each network, where all runs reached it: " +
		"geometric means; upright lines are 95 % intervals. Where lines cross, the order depends on the network."}
	gaps := ""
	styles := chart.Styles(s.Labels)
	for i, label := range s.Labels {
		f.Legend = append(f.Legend, chart.Entry{Name: label, Style: styles[i]})
	}
	for _, target := range s.Targets.List() {
		p := &chart.Panel{Plot: chart.NewPanel("", "s to "+target.String()), Names: names,
			Words: "Lines of the seconds to " + target.String() + " on each network"}
		var without []string
		for i, label := range s.Labels {
			var points plotter.XYs
			var why []string
			for at, name := range names {
				e, reason := timeOn(s, name, label, target)
				if reason != "" {
					why = append(why, name+": "+reason)
					continue
				}
				points = append(points, plotter.XY{X: float64(at), Y: e.Mean})
				p.Whisker(float64(at), e, styles[i].Color)
				p.Words += "; " + label + " on " + name + ": " + e.String()
			}
			if len(points) > 0 {
				p.Line(points, styles[i])
				p.Dots(points, styles[i].Color)
			}
			if len(why) > 0 {
				without = append(without, fmt.Sprintf("%s (%s)", label, strings.Join(why, ", ")))
			}
		}
		if len(without) > 0 {
			gaps += fmt.Sprintf(" Without a point for %s: %s.", target, strings.Join(without, "; "))
		}
		if len(p.Shapes) > 0 {
			chart.Logarithmic(p.Plot)
			p.NominalX(names...)
			p.X.Tick.Label.Rotation = slant(len(names))
			p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XRight, draw.YTop
			p.X.Min, p.X.Max = -0.4, float64(len(names))-0.6
			f.Panels = append(f.Panels, p)
		}
	}
	if len(f.Panels) == 0 {
		return nil
	}
	f.Caption += gaps
	return f
}

// timeOn returns the time of an algorithm to a target on a network, or the reason why it is no point of a line.
func timeOn(s *Study, network, label string, target record.Target) (e stats.Interval, reason string) {
	for _, g := range s.on(network) {
		if g.Label != label {
			continue
		}
		if e, reason = g.timeTo(target), g.missing(target); reason == "" && e.IsBound() {
			reason = e.Range() + " s"
		}
		return e, reason
	}
	return e, "not run"
}
