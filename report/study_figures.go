package report

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// A Figure is a picture of a study, drawn in any format.
type Figure struct {
	Name    string // of its file, without extension
	Caption string
	left    *plot.Plot
	right   *plot.Plot
	legend  []plot.Legend
}

// Draw returns the figure as png, svg or pdf, its panels side by side.
func (f *Figure) Draw(format string) ([]byte, error) {
	canvas, err := newCanvas(format, figureWidth, figureHeight, figureDPI)
	if err != nil {
		return nil, err
	}
	return f.on(canvas, [][]*plot.Plot{{f.left, f.right}})
}

// DrawColumn returns the figure as Draw does, its panels one above the other, for
// one column of a paper.
func (f *Figure) DrawColumn(format string) ([]byte, error) {
	_, height := shapeLegend(draw.New(vgsvg.New(columnWidth, columnHeight)), f.legend)
	canvas, err := newCanvas(format, columnWidth, columnHeight+height, columnDPI)
	if err != nil {
		return nil, err
	}
	return f.on(canvas, [][]*plot.Plot{{f.left}, {f.right}})
}

func (f *Figure) on(canvas writableCanvas, panels [][]*plot.Plot) ([]byte, error) {
	page := draw.New(canvas)
	height := drawLegend(page, f.legend)
	drawGrid(draw.Crop(page, 0, 0, 0, -height), panels)
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, fmt.Errorf("report: figure %s: %w", f.Name, err)
	}
	return out.Bytes(), nil
}

// Figures draws what the study shows: on each network the loss against time and
// bytes, then times to the target beside the parts of a round, then loss and
// differences against rounds.
func (s *Study) Figures() []*Figure {
	var all []*Figure
	for _, network := range s.Networks {
		groups := s.on(network.Name)
		if len(groups) == 0 {
			continue
		}
		f := &Figure{
			Name: "loss-" + slug(network.Name), left: newPanel("time (s)", "training loss"), right: newPanel("sent per peer (MB)", "training loss"),
			Caption: fmt.Sprintf("Training loss on %s against time and against the bytes that a peer sends: means over the seeds, and the range from the least to the largest.", network.Name),
		}
		s.addBands(f, groups, f.left, func(m Moment) float64 { return m.Time.Seconds() }, lossOf)
		s.addBands(f, groups, f.right, func(m Moment) float64 { return float64(m.Sent.Wire) / 1e6 }, lossOf)
		cutLosses(groups, f.left, f.right)
		all = append(all, f, s.bars(network, groups))
	}
	groups := s.on(s.Groups[0].Network.Name)
	f := &Figure{
		Name: "rounds", left: newPanel("round", "training loss"), right: newPanel("round", "largest difference between neighbours"),
		Caption: fmt.Sprintf("Training loss and the largest difference between the models of neighbours against rounds (%s; the network changes times alone).", groups[0].Network.Name),
	}
	round := func(m Moment) float64 { return m.Round }
	s.addBands(f, groups, f.left, round, lossOf)
	cutLosses(groups, f.left)
	s.addBands(f, groups, f.right, round, func(moments []Moment) []float64 {
		gaps := make([]float64, len(moments))
		for i, m := range moments {
			gaps[i] = m.Gap
		}
		return gaps
	})
	return append(all, f)
}

func lossOf(moments []Moment) []float64 { return smooth(moments) }

// cutLosses ends the axes of losses at twice the largest of the first ones, so that
// a run that diverges does not press the others to the ground.
func cutLosses(groups []*Group, panels ...*plot.Plot) {
	top := 0.0
	for _, g := range groups {
		for _, run := range g.runs {
			if losses := lossOf(run.moments); len(losses) > 0 {
				top = max(top, 2*losses[0])
			}
		}
	}
	for _, p := range panels {
		if top > p.Y.Min {
			p.Y.Max = min(p.Y.Max, top)
		}
	}
}

// slug makes a file name of a name.
func slug(name string) string {
	out := []rune(name)
	for i, r := range out {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' {
			out[i] = '-'
		}
	}
	return string(out)
}

// gridPoints is how many points a curve over several seeds has.
const gridPoints = 200

// addBands draws for each group the mean over the seeds as a line and their
// range as a band, against x.
func (s *Study) addBands(f *Figure, groups []*Group, p *plot.Plot, x func(Moment) float64, y func([]Moment) []float64) {
	first := len(f.legend) == 0
	positive := true
	for i, g := range groups {
		var curves []plotter.XYs
		for _, cell := range g.Cells {
			if run := g.runs[cell.Seed]; run != nil {
				curves = append(curves, curveOf(run.moments, x, y))
			}
		}
		mean, band := combine(curves)
		line := &plotter.Line{XYs: mean, LineStyle: runStyle(i)}
		if first {
			f.legend = append(f.legend, legendEntry(p, g.Label, line))
		}
		if len(mean) == 0 {
			continue
		}
		for _, at := range band {
			positive = positive && at.Y > 0
		}
		if len(curves) > 1 {
			if area, err := plotter.NewPolygon(band); err == nil {
				area.Color, area.LineStyle.Width = washed(line.Color), 0
				p.Add(clipped{area})
			}
		}
		p.Add(line)
	}
	scale(p, positive)
}

func legendEntry(p *plot.Plot, label string, line *plotter.Line) plot.Legend {
	entry := plot.NewLegend()
	entry.TextStyle, entry.ThumbnailWidth = p.Legend.TextStyle, vg.Points(34)
	entry.Top, entry.Left = true, true
	entry.Add(label, line)
	return entry
}

// clipped is an area of which nothing is drawn outside the axes.
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

// washed is a colour that a band may have behind lines.
func washed(c color.Color) color.Color {
	const opacity = 40
	r, g, b, _ := c.RGBA()
	return color.NRGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), opacity}
}

// curveOf pairs x and y where both are numbers and x rises.
func curveOf(moments []Moment, x func(Moment) float64, y func([]Moment) []float64) plotter.XYs {
	var curve plotter.XYs
	for i, v := range y(moments) {
		at := x(moments[i])
		if Number(v) != nil && (len(curve) == 0 || at > curve[len(curve)-1].X) {
			curve = append(curve, plotter.XY{X: at, Y: v})
		}
	}
	return curve
}

// combine returns the mean of curves on a common grid and the outline of their
// range.
func combine(curves []plotter.XYs) (mean, band plotter.XYs) {
	from, to := math.Inf(-1), math.Inf(1)
	for _, c := range curves {
		if len(c) == 0 {
			return nil, nil
		}
		from, to = max(from, c[0].X), min(to, c[len(c)-1].X)
	}
	if len(curves) == 0 || to < from {
		return nil, nil
	}
	var lower plotter.XYs
	for i := range gridPoints {
		at := from + (to-from)*float64(i)/(gridPoints-1)
		sum, least, most := 0.0, math.Inf(1), math.Inf(-1)
		for _, c := range curves {
			v := interpolate(c, at)
			sum, least, most = sum+v, min(least, v), max(most, v)
		}
		mean = append(mean, plotter.XY{X: at, Y: sum / float64(len(curves))})
		band = append(band, plotter.XY{X: at, Y: most})
		lower = append(lower, plotter.XY{X: at, Y: least})
	}
	slices.Reverse(lower)
	return mean, append(band, lower...)
}

// interpolate reads a curve at x, within its range.
func interpolate(c plotter.XYs, x float64) float64 {
	i, _ := slices.BinarySearchFunc(c, x, func(p plotter.XY, x float64) int {
		if p.X < x {
			return -1
		}
		return 1
	})
	switch {
	case i == 0:
		return c[0].Y
	case i == len(c):
		return c[i-1].Y
	}
	a, b := c[i-1], c[i]
	return a.Y + (b.Y-a.Y)*(x-a.X)/(b.X-a.X)
}
