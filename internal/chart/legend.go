package chart

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// An Entry is a line of a legend: a name and its style in the panels.
type Entry struct {
	Name    string
	Style   draw.LineStyle
	variant font.Variant // of the typeface; "": Sans
}

// Shape of the legend above the panels, in points.
const (
	legendColumns = 4 // at most
	legendRow     = 13
	legendMargin  = 6
	legendSample  = 28 // the length of a line beside its name
)

// drawn returns the entry as the legend of a plot draws it.
func (e Entry) drawn() plot.Legend {
	one := plot.NewLegend()
	one.TextStyle, one.ThumbnailWidth = TextStyle(SmallText), vg.Points(legendSample)
	if e.variant != "" {
		one.TextStyle.Font.Variant = e.variant
	}
	one.Top, one.Left = true, true
	one.Add(e.Name, &plotter.Line{LineStyle: e.Style})
	return one
}

// shapeLegend returns the number of entries side by side on a page, and the height of the legend.
func shapeLegend(page draw.Canvas, entries []Entry) (columns int, height vg.Length) {
	if len(entries) == 0 {
		return 1, 0
	}
	columns = min(legendColumns, len(entries))
	width := page.Max.X - page.Min.X - 2*legendMargin
	for _, e := range entries {
		one := e.drawn()
		columns = max(1, min(columns, int(width/(one.Rectangle(page).Size().X+legendMargin))))
	}
	rows := (len(entries) + columns - 1) / columns
	return columns, vg.Length(rows*legendRow) + legendMargin
}

// DrawLegend draws the legend in rows along the top of the page, where it covers no panel, and returns its height.
func DrawLegend(page draw.Canvas, entries []Entry) vg.Length {
	columns, height := shapeLegend(page, entries)
	width := (page.Max.X - page.Min.X - 2*legendMargin) / vg.Length(columns)
	for i, e := range entries {
		row, column := i/columns, i%columns
		cell := page
		cell.Min.X += legendMargin + vg.Length(column)*width
		cell.Max.X = cell.Min.X + width
		cell.Max.Y -= legendMargin/2 + vg.Length(row*legendRow)
		one := e.drawn()
		one.Draw(cell)
	}
	return height
}
