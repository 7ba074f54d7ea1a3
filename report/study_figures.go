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
)

// A Figure is a picture of a study, drawn in any format.
type Figure struct {
	Name    string // of its file, without extension
	Caption string
	left    *plot.Plot
	right   *plot.Plot
	legend  []plot.Legend
}

// Draw returns the figure as png, svg or pdf.
func (f *Figure) Draw(format string) ([]byte, error) {
	canvas, err := newCanvas(format)
	if err != nil {
		return nil, err
	}
	page := draw.New(canvas)
	height := drawLegend(page, f.legend)
	drawPanels(draw.Crop(page, 0, 0, 0, -height), f.left, f.right)
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
		all = append(all, f, s.bars(network, groups))
	}
	groups := s.on(s.Groups[0].Network.Name)
	f := &Figure{
		Name: "rounds", left: newPanel("round", "training loss"), right: newPanel("round", "largest difference between neighbours"),
		Caption: fmt.Sprintf("Training loss and the largest difference between the models of neighbours against rounds (%s; the network changes times alone).", groups[0].Network.Name),
	}
	round := func(m Moment) float64 { return m.Round }
	s.addBands(f, groups, f.left, round, lossOf)
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
				p.Add(area)
			}
		}
		p.Add(line)
	}
	if positive && p.Y.Min > 0 && p.Y.Max > p.Y.Min {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, decades{}
	}
}

func legendEntry(p *plot.Plot, label string, line *plotter.Line) plot.Legend {
	entry := plot.NewLegend()
	entry.TextStyle, entry.ThumbnailWidth = p.Legend.TextStyle, vg.Points(34)
	entry.Top, entry.Left = true, true
	entry.Add(label, line)
	return entry
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
