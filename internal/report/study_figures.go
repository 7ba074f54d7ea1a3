package report

import (
	"fmt"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

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
		if !t.measuresGaps() {
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
	name string
	of   func(record.Moment) float64
}

func byTime() abscissa {
	return abscissa{"time (s)", func(m record.Moment) float64 { return m.Time.Seconds() }}
}

func byBytes() abscissa {
	return abscissa{"sent per peer (MB)", func(m record.Moment) float64 { return float64(m.Sent.Wire) / 1e6 }}
}

func byRound() abscissa { return abscissa{"round", func(m record.Moment) float64 { return m.Round }} }

// averaged explains curves and bands in captions.
const averaged = "Lines are means over the seeds; bands go from the least to the largest seed."

// Figures draws the study. For each network it shows loss and accuracy against time and bytes, and times to the targets
// beside the parts of a round. The last figure shows everything against rounds.
func (s *Study) Figures() []*Figure {
	var all []*Figure
	for _, network := range s.Networks {
		if groups := s.on(network.Name); len(groups) > 0 {
			all = append(all, s.figuresOn(network, groups)...)
		}
	}
	return append(all, s.rounds())
}

// rounds draws everything against rounds, on the first network.
func (s *Study) rounds() *Figure {
	groups := s.on(s.Groups[0].Network.Name)
	rounds := &Figure{
		Name: "rounds", legend: legendOf(groups),
		Caption: fmt.Sprintf("Against rounds, on %s: training loss, each point the mean of the last %d records%s. %s",
			groups[0].Network.Name, record.Smoothing, alsoShown(groups), averaged),
	}
	rounds.panels = []*panel{curves(groups, byRound(), theLoss())}
	cutLosses(groups, rounds.panels...)
	for _, q := range []quantity{theGap(), theAccuracy()} {
		if anyHas(groups, q) {
			rounds.panels = append(rounds.panels, curves(groups, byRound(), q))
		}
	}
	return rounds
}

// figuresOn draws the figures of one network.
func (s *Study) figuresOn(network Network, groups []*Group) []*Figure {
	loss := &Figure{
		Name: "loss-" + slug(network.Name), legend: legendOf(groups),
		Caption: fmt.Sprintf("Training loss on %s against time and against the bytes that a peer sends; each point is the "+
			"mean of the last %d records. %s",
			network.Name, record.Smoothing, averaged),
		panels: []*panel{curves(groups, byTime(), theLoss()), curves(groups, byBytes(), theLoss())},
	}
	cutLosses(groups, loss.panels...)
	all := []*Figure{loss}
	if anyHas(groups, theAccuracy()) {
		all = append(all, &Figure{
			Name: "accuracy-" + slug(network.Name), legend: legendOf(groups),
			Caption: fmt.Sprintf("Accuracy on the test set on %s against time and against the bytes that a peer sends, "+
				"without smoothing. %s",
				network.Name, averaged),
			panels: []*panel{curves(groups, byTime(), theAccuracy()), curves(groups, byBytes(), theAccuracy())},
		})
	}
	return append(all, s.bars(network, groups))
}

// alsoShown names the panels that the figure against rounds has beside the loss.
func alsoShown(groups []*Group) string {
	text := ""
	if anyHas(groups, theGap()) {
		text += "; the largest gap, which is the largest difference between the models of two neighbours"
		if slices.ContainsFunc(groups, func(g *Group) bool { return len(g.runs) > 0 && !g.has(theGap()) }) {
			text += " (no line: the algorithm measures none)"
		}
	}
	if anyHas(groups, theAccuracy()) {
		text += "; accuracy on the test set"
	}
	return text
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
func legendOf(groups []*Group) []entry {
	all := make([]entry, len(groups))
	for i, g := range groups {
		all[i] = entry{g.Label, runStyle(i)}
	}
	return all
}

// curves draws for each group the mean over the seeds as a line and their range as
// a band.
func curves(groups []*Group, x abscissa, y quantity) *panel {
	p := &panel{Plot: newPanel(x.name, y.name)}
	logX := farApart(groups, x, y)
	if logX {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, decades{}
	}
	positive := y.name != theAccuracy().name
	words := fmt.Sprintf("Curves of %s against %s", y.name, x.name)
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
		line := &plotter.Line{XYs: mean, LineStyle: runStyle(i)}
		if len(all) > 1 {
			if area, err := plotter.NewPolygon(band); err == nil {
				area.Color, area.LineStyle.Width = washed(line.Color), 0
				p.Add(clipped{area})
			}
		}
		p.Add(line)
		if mean[0].X == mean[len(mean)-1].X { // a line of one point has no length
			p.Add(&plotter.Scatter{XYs: mean[:1], GlyphStyle: draw.GlyphStyle{
				Color: line.Color, Radius: vg.Points(3), Shape: draw.CircleGlyph{}}})
		}
	}
	scale(p.Plot, positive)
	p.words = words + "."
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
