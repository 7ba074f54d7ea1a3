package report

import (
	"errors"
	"fmt"
	"image/color"
	"io"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"gossiptrainer/internal/chart"
)

// WriteConfusion draws which classes a model takes the rows of a class for. The model takes counts[i][j] rows of class
// i for class j. In the picture i goes down and j to the right. The shade is the share of the rows of class i, the text
// their number. The format is png, svg or pdf.
func WriteConfusion(w io.Writer, classes []string, counts [][]int, format string) error {
	if len(classes) == 0 || len(counts) != len(classes) {
		return errors.New("report: figure: there are no classes to draw")
	}
	side := confusionMargin + vg.Length(len(classes))*confusionCell
	canvas, err := chart.NewCanvas(format, side, side)
	if err != nil {
		return err
	}
	p := chart.NewPanel("class by the model", "class of the row")
	ticks := func(reverse bool) plot.ConstantTicks {
		var all plot.ConstantTicks
		for i, name := range classes {
			at := i
			if reverse {
				at = len(classes) - 1 - i
			}
			all = append(all, plot.Tick{Value: float64(at), Label: shortened(name)})
		}
		return all
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = ticks(false), ticks(true)
	p.X.Min, p.Y.Min = -0.5, -0.5
	p.X.Max, p.Y.Max = float64(len(classes))-0.5, float64(len(classes))-0.5
	p.Add(shades(counts))
	if len(classes) <= mostNumbers {
		labels, err := plotter.NewLabels(numbersOf(counts))
		if err != nil {
			return fmt.Errorf("report: figure: %w", err)
		}
		for i := range labels.TextStyle {
			labels.TextStyle[i] = chart.TextStyle(chart.SmallText)
			labels.TextStyle[i].XAlign, labels.TextStyle[i].YAlign = draw.XCenter, draw.YCenter
		}
		p.Add(labels)
	}
	chart.DrawPanels(draw.New(canvas), p)
	if _, err := canvas.WriteTo(w); err != nil {
		return fmt.Errorf("report: figure: %w", err)
	}
	return nil
}

const (
	confusionMargin = 3 * vg.Centimeter
	confusionCell   = 1 * vg.Centimeter
	mostNumbers     = 30 // classes, beyond which a cell has no room for its number
	longestClass    = 10 // letters
)

func shortened(name string) string {
	if letters := []rune(name); len(letters) > longestClass {
		return string(letters[:longestClass-1]) + "."
	}
	return name
}

// shades are counts that are drawn as cells.
type shades [][]int

// Plot implements plot.Plotter.
func (s shades) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i, row := range s {
		all := 0
		for _, n := range row {
			all += n
		}
		at := float64(len(s) - 1 - i)
		for j, n := range row {
			if n == 0 {
				continue
			}
			shade := uint8(255 - 180*float64(n)/float64(all))
			c.FillPolygon(color.RGBA{R: shade, G: uint8(min(255, int(shade)+20)), B: 255, A: 255}, []vg.Point{
				{X: x(float64(j) - 0.5), Y: y(at - 0.5)}, {X: x(float64(j) + 0.5), Y: y(at - 0.5)},
				{X: x(float64(j) + 0.5), Y: y(at + 0.5)}, {X: x(float64(j) - 0.5), Y: y(at + 0.5)},
			})
		}
	}
}

// numbersOf returns the counts above 0 with their places.
func numbersOf(counts [][]int) plotter.XYLabels {
	var all plotter.XYLabels
	for i, row := range slices.Backward(counts) {
		for j, n := range row {
			if n > 0 {
				all.XYs = append(all.XYs, plotter.XY{X: float64(j), Y: float64(len(counts) - 1 - i)})
				all.Labels = append(all.Labels, strconv.Itoa(n))
			}
		}
	}
	return all
}
