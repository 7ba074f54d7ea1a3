package report

import (
	"errors"
	"fmt"
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"gossiptrainer/internal/record"
)

// A Line is a curve of a figure. Lines of one name have the same style in all panels.
type Line struct {
	Name string
	X, Y []float64 // equally many, at least one
}

// Lines is a panel of a figure.
type Lines struct {
	X, Y  string // labels of the axes
	Lines []Line
}

// WriteLines draws two panels of lines side by side, with logarithmic vertical axes and one legend above both. All
// values must be numbers, and those of Y above 0. The format is png, svg or pdf.
func WriteLines(w io.Writer, left, right Lines, format string) error {
	canvas, err := newCanvas(format, figureWidth, figureHeight)
	if err != nil {
		return err
	}
	names := map[string]int{} // to the index of their style
	var entries []entry
	var panels []*plot.Plot
	for _, panel := range []Lines{left, right} {
		p := newPanel(panel.X, panel.Y)
		for _, l := range panel.Lines {
			if err := l.check(); err != nil {
				return err
			}
			i, known := names[l.Name]
			if !known {
				i = len(names)
				names[l.Name] = i
			}
			line := l.styled(i)
			p.Add(line)
			if !known {
				entries = append(entries, entry{name: l.Name, style: line.LineStyle})
			}
		}
		if len(panel.Lines) > 0 {
			logarithmic(p)
		}
		panels = append(panels, p)
	}
	if len(entries) == 0 {
		return errors.New("report: figure: there are no lines to draw")
	}
	page := draw.New(canvas)
	height := drawLegend(page, entries)
	drawPanels(draw.Crop(page, 0, 0, 0, -height), panels[0], panels[1])
	if _, err := canvas.WriteTo(w); err != nil {
		return fmt.Errorf("report: figure: %w", err)
	}
	return nil
}

// check returns an error if a line cannot be drawn.
func (l Line) check() error {
	if len(l.X) != len(l.Y) || len(l.X) == 0 {
		return fmt.Errorf("report: figure: %s: %d values at %d places: give equally many, at least one", l.Name, len(l.Y),
			len(l.X))
	}
	for i, y := range l.Y {
		if record.Number(y) == nil || record.Number(l.X[i]) == nil || y <= 0 {
			return fmt.Errorf("report: figure: %s: %v at %v: must be a number above 0 on a logarithmic axis", l.Name, y, l.X[i])
		}
	}
	return nil
}

// styled returns the line in the i-th style.
func (l Line) styled(i int) *plotter.Line {
	line := &plotter.Line{LineStyle: runStyle(i)}
	for j := range l.X {
		line.XYs = append(line.XYs, plotter.XY{X: l.X[j], Y: l.Y[j]})
	}
	return line
}

// logarithmic gives a panel whose values are above 0 a logarithmic axis that
// keeps its curves off its edges.
func logarithmic(p *plot.Plot) {
	const margin = 1.08
	p.Y.Min /= margin
	p.Y.Max *= margin
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, decades{}
}
