package chart

import (
	"image/color"
	"strconv"
	"strings"

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
	FigureWidth  = 7 * vg.Inch
	FigureHeight = 2.8 * vg.Inch
	columnWidth  = 3.3 * vg.Inch
	panelHeight  = 2.2 * vg.Inch // of each in a column
	figureDPI    = 160

	labelText = 9
	SmallText = 8
)

// Colours of Okabe and Ito, which colour-blind readers can tell apart.
var (
	Blue   = color.RGBA{0, 114, 178, 255}
	Orange = color.RGBA{213, 94, 0, 255}
	Faint  = color.NRGBA{0, 114, 178, 70}
	grid   = color.Gray{Y: 225}
)

// lineColors are the colours of Okabe and Ito without yellow, and four more that colour-blind readers can tell apart
// from them.
var lineColors = [...]color.RGBA{
	Blue, Orange, {0, 158, 115, 255}, {204, 121, 167, 255}, {0, 0, 0, 255}, {230, 159, 0, 255}, {86, 180, 233, 255},
	{0, 0, 187, 255}, {136, 34, 85, 255}, {85, 51, 0, 255}, {119, 187, 85, 255},
}

// PartColors returns the colours of the parts of a round, which no line has: gradient, hand-over, coding, waiting.
func PartColors() [4]color.Color {
	return [...]color.Color{color.Gray{Y: 195}, color.Gray{Y: 40}, color.RGBA{240, 228, 66, 255}, color.Gray{Y: 243}}
}

// Styles returns the colour and the dashes of each line of a figure, no two alike. Each has a colour of its own while
// there are enough. More lines share one if their labels begin with the same word. Lines of neighbouring colours differ
// in their dashes too, so they can be told apart in grey.
func Styles(labels []string) []draw.LineStyle {
	all, families, taken := make([]draw.LineStyle, len(labels)), map[string]int{}, map[int]int{}
	for i, label := range labels {
		if len(labels) > len(lineColors) {
			label, _, _ = strings.Cut(strings.ReplaceAll(label, ",", " "), " ")
		} else {
			label = strconv.Itoa(i)
		}
		family, known := families[label]
		if !known {
			family = len(families)
			families[label] = family
		}
		c := family % len(lineColors)
		all[i] = draw.LineStyle{Color: lineColors[c], Dashes: dashes(c, taken[c]), Width: vg.Points(1.4)}
		taken[c]++
	}
	return all
}

// dashes returns the dashes of the n-th line of the c-th colour. All lines of a colour have different ones.
func dashes(c, n int) []vg.Length {
	usual := [...][]vg.Length{nil, {7, 3}, {2, 2.5}, {8, 2.5, 2, 2.5}, {14, 3}, {3, 7}, {8, 2.5, 2, 2.5, 2, 2.5},
		{14, 3, 5, 3}}
	if n < len(usual) {
		return usual[(c+n)%len(usual)]
	}
	all := []vg.Length{10, 2.5} // and three dots or more
	for range n - len(usual) + 3 {
		all = append(all, 2, 2.5)
	}
	return all
}

// TextStyle returns the style of letters of a size.
func TextStyle(size font.Length) text.Style {
	style := plot.New().Legend.TextStyle
	style.Font = font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
	return style
}

// NewPanel returns an empty panel with labels of its axes.
func NewPanel(x, y string) *plot.Plot {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = x, y
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Font = TextStyle(labelText).Font
		axis.Tick.Label.Font = TextStyle(SmallText).Font
		axis.Padding = 0
		axis.Tick.Marker = round125{}
	}
	p.Legend.TextStyle = TextStyle(SmallText)
	p.Legend.Top = true
	p.Legend.XOffs, p.Legend.YOffs = -vg.Points(4), -vg.Points(2)
	p.Legend.ThumbnailWidth = vg.Points(26)
	lines := plotter.NewGrid()
	lines.Vertical.Color, lines.Horizontal.Color = grid, grid
	p.Add(lines)
	return p
}
