package chart

import (
	"bytes"
	"fmt"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// A Figure is a picture of a study, which can be drawn in any format.
type Figure struct {
	Name    string // of its file, without extension
	Caption string
	Panels  []*Panel
	Legend  []Entry
}

// Draw returns the figure as png, svg or pdf, its panels side by side.
func (f *Figure) Draw(format string) ([]byte, error) {
	row := make([]*plot.Plot, len(f.Panels))
	for i, p := range f.Panels {
		row[i] = p.Plot
	}
	return f.on(format, FigureWidth, FigureHeight, [][]*plot.Plot{row})
}

// DrawColumn returns the figure like Draw, with its panels one above another, for one column of a paper.
func (f *Figure) DrawColumn(format string) ([]byte, error) {
	rows := make([][]*plot.Plot, len(f.Panels))
	for i, p := range f.Panels {
		rows[i] = []*plot.Plot{p.Plot}
	}
	return f.on(format, columnWidth, vg.Length(len(rows))*panelHeight, rows)
}

// on draws panels of the given total size, and the legend above them.
func (f *Figure) on(format string, width, height vg.Length, panels [][]*plot.Plot) ([]byte, error) {
	if format == "pdf" { // in letters of the widths of Times, as in papers; the page has no serifs
		f.in("Serif")
		defer f.in("Sans")
	}
	_, above := shapeLegend(draw.New(vgsvg.New(width, height)), f.Legend)
	canvas, err := NewCanvas(format, width, height+above)
	if err != nil {
		return nil, err
	}
	page := draw.New(canvas)
	DrawLegend(page, f.Legend)
	drawGrid(draw.Crop(page, 0, 0, 0, -above), panels)
	return written(f.Name, canvas)
}

// in gives all letters of the figure a variant of the typeface: Sans or Serif.
func (f *Figure) in(variant font.Variant) {
	for _, p := range f.Panels {
		p.in(variant)
	}
	for i := range f.Legend {
		f.Legend[i].variant = variant
	}
}

// SVG draws a panel alone, without a background.
func (p *Panel) SVG() ([]byte, error) {
	canvas := vgsvg.New(columnWidth, panelHeight)
	background := p.BackgroundColor
	p.BackgroundColor = nil
	DrawPanels(draw.New(canvas), p.Plot)
	p.BackgroundColor = background
	return written(p.Y.Label.Text, canvas)
}

func written(name string, canvas Canvas) ([]byte, error) {
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, fmt.Errorf("report: figure %s: %w", name, err)
	}
	return out.Bytes(), nil
}
