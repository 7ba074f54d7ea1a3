package report

import (
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"gossiptrainer/internal/record"
)

// acrossNetworks draws the times to the targets on all networks side by side, with a line for each algorithm. It
// returns nil if there is one network or no target.
func (s *Study) acrossNetworks() *Figure {
	var names []string
	for _, network := range s.Networks {
		if len(s.on(network.Name)) > 0 {
			names = append(names, network.Name)
		}
	}
	if len(names) < 2 {
		return nil
	}
	f := &Figure{Name: "networks", Caption: "Time to the target on each network, where all runs reached it: geometric " +
		"means; upright lines are 95 % intervals. Where lines cross, the order depends on the network."}
	styles := styles(s.Labels)
	for i, label := range s.Labels {
		f.legend = append(f.legend, entry{name: label, style: styles[i]})
	}
	for _, target := range s.Targets.List() {
		p := &panel{Plot: newPanel("", "s to "+target.String()), names: names,
			words: "Lines of the seconds to " + target.String() + " on each network"}
		for i, label := range s.Labels {
			var points plotter.XYs
			for at, name := range names {
				e, known := s.timeOn(name, label, target)
				if !known {
					continue
				}
				points = append(points, plotter.XY{X: float64(at), Y: e.Mean})
				p.whisker(float64(at), e, styles[i].Color)
				p.words += "; " + label + " on " + name + ": " + e.String()
			}
			if len(points) > 0 {
				p.line(points, styles[i])
				p.dots(points, styles[i].Color)
			}
		}
		if len(p.shapes) > 0 {
			logarithmic(p.Plot)
			p.NominalX(names...)
			p.X.Tick.Label.Rotation = slant(len(names))
			p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XRight, draw.YTop
			p.X.Min, p.X.Max = -0.4, float64(len(names))-0.6
			f.panels = append(f.panels, p)
		}
	}
	if len(f.panels) == 0 {
		return nil
	}
	return f
}

// timeOn returns the time of an algorithm to a target on a network. It is known if all runs reached the target, and if
// the time is no bound.
func (s *Study) timeOn(network, label string, target record.Target) (e geomean, known bool) {
	for _, g := range s.on(network) {
		if g.Label == label && g.reaches(target) {
			e = g.timeTo(target)
			return e, !e.isBound()
		}
	}
	return e, false
}
