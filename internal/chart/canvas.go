package chart

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
	"gonum.org/v1/plot/vg/vgsvg"
)

// A Canvas is a page to draw on, which writes itself.
type Canvas interface {
	vg.CanvasSizer
	io.WriterTo
}

// NewCanvas returns an empty page in a format: png, svg or pdf.
func NewCanvas(format string, width, height vg.Length) (Canvas, error) {
	switch format {
	case "png":
		return vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(figureDPI))}, nil
	case "svg":
		return vgsvg.New(width, height), nil
	case "pdf":
		return pdfCanvas{vgpdf.New(width, height)}, nil
	}
	return nil, fmt.Errorf("report: figure: format %q is none of png, svg, pdf", format)
}

// A pdfCanvas corrects transparent colours. The canvas of vgpdf writes the values of RGBA, which are already multiplied
// by the opacity, beside the opacity. A light blue becomes a dark grey there.
type pdfCanvas struct{ *vgpdf.Canvas }

// SetColor implements vg.Canvas.
func (c pdfCanvas) SetColor(wanted color.Color) {
	if wanted != nil {
		wanted = straight{color.NRGBA64Model.Convert(wanted).(color.NRGBA64)}
	}
	c.Canvas.SetColor(wanted)
}

// FillString implements vg.Canvas.
func (c pdfCanvas) FillString(face font.Face, at vg.Point, words string) {
	c.Canvas.FillString(face, at, latin(words))
}

// latin encodes text for the fonts of vgpdf, which have one byte for each of the first 256 code points of Unicode and
// no others.
func latin(words string) string {
	var coded []byte
	for _, r := range strings.ReplaceAll(words, "θ", "theta") {
		if r > 0xff {
			r = '?'
		}
		coded = append(coded, byte(r))
	}
	return string(coded)
}

// A straight colour does not multiply its values by its opacity.
type straight struct{ color.NRGBA64 }

// RGBA implements color.Color, except that it ignores the opacity.
func (c straight) RGBA() (r, g, b, a uint32) {
	return uint32(c.R), uint32(c.G), uint32(c.B), uint32(c.A)
}

// DrawPanels draws panels side by side.
func DrawPanels(page draw.Canvas, row ...*plot.Plot) { drawGrid(page, [][]*plot.Plot{row}) }

// labelRoom is the width of the labels of vertical axes, left of their panels.
const labelRoom = labelText + 5

// drawGrid draws rows of panels, all of the same length. It draws the labels of the vertical axes itself, because on a
// logarithmic axis the plot reserves room for a label at the wrong place.
func drawGrid(page draw.Canvas, panels [][]*plot.Plot) {
	tiles := draw.Tiles{
		Rows: len(panels), Cols: len(panels[0]), PadX: vg.Points(8 + labelRoom), PadY: vg.Points(6),
		PadTop: 4, PadBottom: 4, PadLeft: vg.Points(labelRoom), PadRight: 8,
	}
	labels := map[*plot.Plot]string{}
	for _, row := range panels {
		for _, p := range row {
			labels[p], p.Y.Label.Text = p.Y.Label.Text, ""
		}
	}
	for i, row := range plot.Align(panels, tiles, page) {
		for j, cell := range row {
			p := panels[i][j]
			p.Draw(cell)
			style := TextStyle(labelText)
			style.Font = p.Y.Label.TextStyle.Font
			style.Rotation, style.XAlign, style.YAlign = math.Pi/2, draw.XCenter, draw.YBottom
			inside := p.DataCanvas(cell)
			cell.FillText(style, vg.Point{X: cell.Min.X - vg.Points(3), Y: inside.Center().Y}, labels[p])
			p.Y.Label.Text = labels[p]
		}
	}
}
