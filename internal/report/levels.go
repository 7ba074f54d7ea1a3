package report

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"gossiptrainer/internal/chart"
)

// WriteLevels draws how a quantizer rounds the values of a bucket. One panel shows the density of the values with the
// levels as lines. The other shows the share of the values that round to each level. The format is png, svg or pdf.
func WriteLevels(w io.Writer, values []float32, levels, shares []float64, format string) error {
	if len(values) == 0 || len(levels) == 0 || len(levels) != len(shares) {
		return errors.New("report: figure: there are no levels to draw")
	}
	canvas, err := chart.NewCanvas(format, chart.FigureWidth, chart.FigureHeight)
	if err != nil {
		return err
	}
	density, err := densityPanel(values, levels)
	if err != nil {
		return fmt.Errorf("report: figure: %w", err)
	}
	sticks, err := sharePanel(levels, shares)
	if err != nil {
		return fmt.Errorf("report: figure: %w", err)
	}
	low, high := min(density.X.Min, sticks.X.Min), max(density.X.Max, sticks.X.Max)
	for _, p := range []*plot.Plot{density, sticks} {
		p.X.Min, p.X.Max = low, high
	}
	chart.DrawPanels(draw.New(canvas), density, sticks)
	if _, err := canvas.WriteTo(w); err != nil {
		return fmt.Errorf("report: figure: %w", err)
	}
	return nil
}

// densityBins is the number of bars of a density.
const densityBins = 80

func densityPanel(values []float32, levels []float64) (*plot.Plot, error) {
	p := chart.NewPanel("value", "density of a bucket, and its levels")
	list := make(plotter.Values, len(values))
	for i, v := range values {
		list[i] = float64(v)
	}
	bars, err := plotter.NewHist(list, densityBins)
	if err != nil {
		return nil, err
	}
	bars.Normalize(1)
	bars.FillColor, bars.LineStyle.Width = chart.Faint, 0
	p.Add(bars)
	highest := 0.0
	for _, b := range bars.Bins {
		highest = max(highest, b.Weight)
	}
	for _, level := range levels {
		line, err := newLine(plotter.XYs{{X: level}, {X: level, Y: highest}}, chart.Orange, 0.8)
		if err != nil {
			return nil, err
		}
		p.Add(line)
	}
	chart.Margin(p, 0.02)
	return p, nil
}

func sharePanel(levels, shares []float64) (*plot.Plot, error) {
	p := chart.NewPanel("level", "share of the values that become it")
	for i, level := range levels {
		stick, err := newLine(plotter.XYs{{X: level}, {X: level, Y: shares[i]}}, chart.Blue, 2)
		if err != nil {
			return nil, err
		}
		p.Add(stick)
	}
	tops := make(plotter.XYs, len(levels))
	for i := range tops {
		tops[i] = plotter.XY{X: levels[i], Y: shares[i]}
	}
	dots, err := plotter.NewScatter(tops)
	if err != nil {
		return nil, err
	}
	dots.Color, dots.Shape, dots.Radius = chart.Blue, draw.CircleGlyph{}, vg.Points(2)
	p.Add(dots)
	p.Y.Max = max(slices.Max(shares)*1.05, p.Y.Min)
	chart.Margin(p, 0.02)
	return p, nil
}
