package report

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"gossiptrainer/internal/record"
	"gossiptrainer/internal/stats"
)

// A panel is one plot of a figure, with a description in words. Everything that it draws is also on the list of shapes,
// from which the source for LaTeX is written.
type panel struct {
	*plot.Plot
	words  string
	axis   axis
	shapes []shape
	notes  []note
	names  []string // of the places 0, 1, ... on the horizontal axis; nil: it has numbers
}

// An axis is a horizontal axis among which the reader of the page chooses.
type axis string

// The axes of curves.
const (
	axisRounds  axis = "rounds"
	axisBytes   axis = "bytes"
	axisSeconds axis = "seconds"
)

// A shape is a line, an area or dots in the units of the axes.
type shape struct {
	kind   kind
	points plotter.XYs
	style  draw.LineStyle // its colour is also that of areas and dots
}

// A kind is what a shape is.
type kind int

// The kinds of shapes.
const (
	lineShape kind = iota
	areaShape      // filled
	bandShape      // filled, pale
	dotShape
)

// A note is a text in a panel, written upwards from its place.
type note struct {
	at     plotter.XY
	labels *plotter.Labels
}

// line draws a line.
func (p *panel) line(points plotter.XYs, style draw.LineStyle) {
	p.Add(&plotter.Line{XYs: points, LineStyle: style})
	p.shapes = append(p.shapes, shape{lineShape, points, style})
}

// band fills the range of several curves with a pale colour, inside the axes.
func (p *panel) band(outline plotter.XYs, style draw.LineStyle) {
	area, err := plotter.NewPolygon(outline)
	if err != nil {
		return // a value is not a number
	}
	area.Color, area.LineStyle.Width = washed(style.Color), 0
	p.Add(clipped{area})
	p.shapes = append(p.shapes, shape{bandShape, outline, style})
}

// bar draws a bar at a place of the horizontal axis.
func (p *panel) bar(at int, low, high float64, c color.Color) {
	x := float64(at)
	outline := plotter.XYs{{X: x - barHalf, Y: low}, {X: x + barHalf, Y: low}, {X: x + barHalf, Y: high},
		{X: x - barHalf, Y: high}}
	area, err := plotter.NewPolygon(outline)
	if err != nil {
		return // the height is not a number
	}
	area.Color, area.LineStyle.Width = c, vg.Points(0.5)
	p.Add(area)
	p.shapes = append(p.shapes, shape{areaShape, outline, draw.LineStyle{Color: c}})
}

// whisker draws the interval of e at x.
func (p *panel) whisker(x float64, e stats.Interval, c color.Color) {
	if record.Number(e.High-e.Low) == nil {
		return
	}
	p.line(plotter.XYs{{X: x, Y: e.Low}, {X: x, Y: e.High}}, draw.LineStyle{Width: vg.Points(1.2), Color: c})
}

// dots draws points.
func (p *panel) dots(points plotter.XYs, c color.Color) {
	p.Add(&plotter.Scatter{XYs: points, GlyphStyle: draw.GlyphStyle{
		Color: c, Radius: vg.Points(2.5), Shape: draw.CircleGlyph{}}})
	p.shapes = append(p.shapes, shape{dotShape, points, draw.LineStyle{Color: c}})
}

// note writes a text upwards from a place.
func (p *panel) note(at plotter.XY, words string) {
	style := textStyle(smallText)
	style.Rotation, style.XAlign, style.YAlign = math.Pi/2, draw.XLeft, draw.YCenter
	labels := &plotter.Labels{XYs: plotter.XYs{at}, Labels: []string{words}, TextStyle: []text.Style{style}}
	p.Add(unpadded{labels})
	p.notes = append(p.notes, note{at, labels})
}

// unpadded is a plotter that reserves no room in the panel.
type unpadded struct{ of plot.Plotter }

// Plot implements plot.Plotter.
func (u unpadded) Plot(canvas draw.Canvas, p *plot.Plot) { u.of.Plot(canvas, p) }

// in gives all letters of the panel a variant of the typeface: Sans or Serif.
func (p *panel) in(variant font.Variant) {
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font.Variant = variant
		a.Tick.Label.Font.Variant = variant
	}
	for _, n := range p.notes {
		n.labels.TextStyle[0].Font.Variant = variant
	}
}
