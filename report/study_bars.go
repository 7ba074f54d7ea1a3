package report

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A part is one of the times that a round of a group consists of.
type part struct {
	name  string
	color color.Color
	of    func(Moment) float64 // milliseconds
}

// bars draws the time to the target and the parts of a round, a bar for each
// algorithm.
func (s *Study) bars(network Network, groups []*Group) *Figure {
	f := &Figure{
		Name: "bars-" + slug(network.Name), left: newPanel("", "time to "+s.Targets.String()+" (s)"), right: newPanel("", "a round (ms)"),
		Caption: fmt.Sprintf("On %s: time to the target (no bar: not reached in every run; lines: 95 %% intervals) and what a round consists of, means over peers, rounds and seeds; the black mark is what it takes at least.", network.Name),
	}
	if s.Targets.String() == "" {
		f.left.Title.Text = "no target"
	}
	var labels []string
	for i, g := range groups {
		labels = append(labels, g.Label)
		if e := g.estimate(toTarget); e.N > 0 && e.N == len(g.Cells) {
			addBar(f.left, i, 0, e.Mean, runStyle(i).Color)
			addWhisker(f.left, i, e)
		}
	}
	s.addParts(f, groups)
	for _, p := range []*plot.Plot{f.left, f.right} {
		p.NominalX(labels...)
		p.X.Tick.Label.Rotation = slant(len(groups))
		p.X.Tick.Length = vg.Points(3) // off the bars
		p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XRight, draw.YTop
		p.X.Min, p.X.Max = -0.6, float64(len(groups))-0.4
		p.Y.Min = 0
		p.Y.Max *= headroom
	}
	return f
}

// headroom keeps bars and their lines off the upper edge.
const headroom = 1.04

// slant is the angle of the labels of so many bars, in radians: many must be
// steeper, so as not to meet.
func slant(bars int) float64 {
	const many = 8
	if bars > many {
		return math.Pi / 4
	}
	return math.Pi / 7
}

const barHalf = 0.36 // of the distance of two bars

func addBar(p *plot.Plot, at int, low, high float64, c color.Color) {
	x := float64(at)
	bar, err := plotter.NewPolygon(plotter.XYs{{X: x - barHalf, Y: low}, {X: x + barHalf, Y: low}, {X: x + barHalf, Y: high}, {X: x - barHalf, Y: high}})
	if err != nil {
		return // a height that is no number
	}
	bar.Color, bar.LineStyle.Width = c, vg.Points(0.5)
	p.Add(bar)
}

func addWhisker(p *plot.Plot, at int, e estimate) {
	if math.IsNaN(e.Half) {
		return
	}
	x := float64(at)
	for _, stroke := range []draw.LineStyle{{Width: vg.Points(3), Color: color.White}, {Width: vg.Points(1.2), Color: color.Black}} { // seen on any bar
		p.Add(&plotter.Line{XYs: plotter.XYs{{X: x, Y: max(0, e.Mean-e.Half)}, {X: x, Y: e.Mean + e.Half}}, LineStyle: stroke})
	}
}

// addParts stacks the parts of a round and marks what it takes at least.
func (s *Study) addParts(f *Figure, groups []*Group) {
	parts := []part{
		{"gradient", color.RGBA{0, 114, 178, 255}, func(m Moment) float64 { return 1e3 * m.Compute.Seconds() }},
		{"coding", color.RGBA{230, 159, 0, 255}, func(m Moment) float64 { return 1e3 * m.Codec.Seconds() }},
		{"waiting for messages", color.RGBA{225, 225, 225, 255}, func(m Moment) float64 { return 1e3 * m.Wait.Seconds() }},
	}
	for i, g := range groups {
		low := 0.0
		for _, part := range parts {
			high := low + g.meanOf(part.of)
			addBar(f.right, i, low, high, part.color)
			low = high
		}
		if e := g.estimate(s.leastPerRound(g)); e.N > 0 {
			x := float64(i)
			mark := &plotter.Line{XYs: plotter.XYs{{X: x - 0.46, Y: e.Mean}, {X: x + 0.46, Y: e.Mean}}}
			mark.Width, mark.Color = vg.Points(2), color.Black
			f.right.Add(mark)
		}
	}
	for _, part := range parts {
		sample := &plotter.Line{}
		sample.Width, sample.Color = vg.Points(7), part.color
		f.legend = append(f.legend, legendEntry(f.right, part.name, sample))
	}
}

// meanOf is the mean over the moments of all runs.
func (g *Group) meanOf(of func(Moment) float64) float64 {
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
