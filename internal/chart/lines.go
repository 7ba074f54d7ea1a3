package chart

import (
	"errors"
	"fmt"
	"io"
	"slices"

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
	canvas, err := NewCanvas(format, FigureWidth, FigureHeight)
	if err != nil {
		return err
	}
	entries := legendOfLines(left, right)
	var panels []*plot.Plot
	for _, panel := range []Lines{left, right} {
		p := NewPanel(panel.X, panel.Y)
		for _, l := range panel.Lines {
			if err := l.check(); err != nil {
				return err
			}
			at := slices.IndexFunc(entries, func(e Entry) bool { return e.Name == l.Name })
			p.Add(l.styled(entries[at].Style))
		}
		if len(panel.Lines) > 0 {
			Logarithmic(p)
		}
		panels = append(panels, p)
	}
	if len(entries) == 0 {
		return errors.New("report: figure: there are no lines to draw")
	}
	page := draw.New(canvas)
	height := DrawLegend(page, entries)
	DrawPanels(draw.Crop(page, 0, 0, 0, -height), panels[0], panels[1])
	if _, err := canvas.WriteTo(w); err != nil {
		return fmt.Errorf("report: figure: %w", err)
	}
	return nil
}

// legendOfLines returns an entry for each name.
func legendOfLines(panels ...Lines) []Entry {
	var names []string
	for _, panel := range panels {
		for _, l := range panel.Lines {
			if !slices.Contains(names, l.Name) {
				names = append(names, l.Name)
			}
		}
	}
	entries, styles := make([]Entry, len(names)), Styles(names)
	for i, name := range names {
		entries[i] = Entry{Name: name, Style: styles[i]}
	}
	return entries
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

// styled returns the line in a style.
func (l Line) styled(style draw.LineStyle) *plotter.Line {
	line := &plotter.Line{LineStyle: style}
	for j := range l.X {
		line.XYs = append(line.XYs, plotter.XY{X: l.X[j], Y: l.Y[j]})
	}
	return line
}

// Logarithmic gives a panel whose values are above 0 a logarithmic axis that
// keeps its curves off its edges.
func Logarithmic(p *plot.Plot) {
	const margin = 1.08
	p.Y.Min /= margin
	p.Y.Max *= margin
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, Decades{}
}
