package report

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Size of a figure in print, in inches. The text of a page is 7 inches wide, a column 3.3. No letter is smaller than 8
// points.
const (
	figureWidth  = 7 * vg.Inch
	figureHeight = 2.8 * vg.Inch
	columnWidth  = 3.3 * vg.Inch
	panelHeight  = 2.2 * vg.Inch // of each in a column
	figureDPI    = 160

	labelText = 9
	smallText = 8
)

// runStyle returns the colour and the dashes of the i-th run in a comparison. The colours are those of Okabe and Ito
// without yellow, and four more that colour-blind readers can tell apart from them. Eleven colours and eight kinds of
// dashes make 88 styles. Eight styles in a row differ in their dashes, so lines can be told apart in grey too.
func runStyle(i int) draw.LineStyle {
	colors := [...]color.RGBA{
		blue, orange, {0, 158, 115, 255}, {204, 121, 167, 255}, {0, 0, 0, 255}, {230, 159, 0, 255}, {86, 180, 233, 255},
		{0, 0, 187, 255}, {136, 34, 85, 255}, {85, 51, 0, 255}, {119, 187, 85, 255},
	}
	dashes := [...][]vg.Length{nil, {7, 3}, {2, 2.5}, {8, 2.5, 2, 2.5}, {14, 3}, {3, 7}, {8, 2.5, 2, 2.5, 2, 2.5}, {14,
		3, 5, 3}}
	return draw.LineStyle{Color: colors[i%len(colors)], Dashes: dashes[i%len(dashes)], Width: vg.Points(1.4)}
}

// textStyle returns the style of letters of a size.
func textStyle(size font.Length) text.Style {
	style := plot.New().Legend.TextStyle
	style.Font = font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
	return style
}

// newPanel returns an empty panel with labels of its axes.
func newPanel(x, y string) *plot.Plot {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = x, y
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Font = textStyle(labelText).Font
		axis.Tick.Label.Font = textStyle(smallText).Font
		axis.Padding = 0
		axis.Tick.Marker = round125{}
	}
	p.Legend.TextStyle = textStyle(smallText)
	p.Legend.Top = true
	p.Legend.XOffs, p.Legend.YOffs = -vg.Points(4), -vg.Points(2)
	p.Legend.ThumbnailWidth = vg.Points(26)
	lines := plotter.NewGrid()
	lines.Vertical.Color, lines.Horizontal.Color = grid, grid
	p.Add(lines)
	return p
}
