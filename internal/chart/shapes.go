package chart

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

// A Panel is one plot of a figure, with a description in words. Everything that it draws is also on the list of shapes,
// from which the source for LaTeX is written.
type Panel struct {
	*plot.Plot
	Words  string
	Axis   Axis
	Shapes []Shape
	notes  []note
	Names  []string // of the places 0, 1, ... on the horizontal axis; nil: it has numbers
}

// An Axis is a horizontal axis among which the reader of the page chooses.
type Axis string

// The axes of curves.
const (
	AxisRounds  Axis = "rounds"
	AxisBytes   Axis = "bytes"
	AxisSeconds Axis = "seconds"
)

// A Shape is a line, an area or dots in the units of the axes.
type Shape struct {
	kind   kind
	Points plotter.XYs
	Style  draw.LineStyle // its colour is also that of areas and dots
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

// Line draws a line.
func (p *Panel) Line(points plotter.XYs, style draw.LineStyle) {
	p.Add(&plotter.Line{XYs: points, LineStyle: style})
	p.Shapes = append(p.Shapes, Shape{lineShape, points, style})
}

// Band fills the range of several curves with a pale colour, inside the axes.
func (p *Panel) Band(outline plotter.XYs, style draw.LineStyle) {
	area, err := plotter.NewPolygon(outline)
	if err != nil {
		return // a value is not a number
	}
	area.Color, area.LineStyle.Width = washed(style.Color), 0
	p.Add(clipped{area})
	p.Shapes = append(p.Shapes, Shape{bandShape, outline, style})
}

// Bar draws a bar at a place of the horizontal axis.
func (p *Panel) Bar(at int, low, high float64, c color.Color) {
	x := float64(at)
	outline := plotter.XYs{{X: x - barHalf, Y: low}, {X: x + barHalf, Y: low}, {X: x + barHalf, Y: high},
		{X: x - barHalf, Y: high}}
	area, err := plotter.NewPolygon(outline)
	if err != nil {
		return // the height is not a number
	}
	area.Color, area.LineStyle.Width = c, vg.Points(0.5)
	p.Add(area)
	p.Shapes = append(p.Shapes, Shape{areaShape, outline, draw.LineStyle{Color: c}})
}

// Whisker draws the interval of e at x.
func (p *Panel) Whisker(x float64, e stats.Interval, c color.Color) {
	if record.Number(e.High-e.Low) == nil {
		return
	}
	p.Line(plotter.XYs{{X: x, Y: e.Low}, {X: x, Y: e.High}}, draw.LineStyle{Width: vg.Points(1.2), Color: c})
}

// Dots draws points.
func (p *Panel) Dots(points plotter.XYs, c color.Color) {
	p.Add(&plotter.Scatter{XYs: points, GlyphStyle: draw.GlyphStyle{
		Color: c, Radius: vg.Points(2.5), Shape: draw.CircleGlyph{}}})
	p.Shapes = append(p.Shapes, Shape{dotShape, points, draw.LineStyle{Color: c}})
}

// Note writes a text upwards from a place.
func (p *Panel) Note(at plotter.XY, words string) {
	style := TextStyle(SmallText)
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
func (p *Panel) in(variant font.Variant) {
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font.Variant = variant
		a.Tick.Label.Font.Variant = variant
	}
	for _, n := range p.notes {
		n.labels.TextStyle[0].Font.Variant = variant
	}
}

// washed returns a pale colour for a band behind lines.
func washed(c color.Color) color.Color {
	const opacity = 40
	r, g, b, _ := c.RGBA()
	return color.NRGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), opacity}
}

// clipped is an area that is drawn only inside the axes.
type clipped struct{ *plotter.Polygon }

// Plot implements plot.Plotter.
func (c clipped) Plot(canvas draw.Canvas, p *plot.Plot) {
	inside := *c.Polygon
	inside.XYs = make([]plotter.XYs, len(c.XYs))
	for i, ring := range c.XYs {
		inside.XYs[i] = make(plotter.XYs, len(ring))
		for j, at := range ring {
			inside.XYs[i][j] = plotter.XY{X: at.X, Y: min(at.Y, p.Y.Max)}
		}
	}
	inside.Plot(canvas, p)
}

// Crowd is the least number of bars whose labels are vertical.
const Crowd = 12

const barHalf = 0.36 // in units of the distance between two bars
