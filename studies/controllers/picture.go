package main

import (
	"fmt"
	"image/color"
	"os"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"gossiptrainer/internal/record"
)

// beside is the number of rounds on each side of a round over which losses are averaged: mini-batch losses are noisy.
const beside = 10

// sketch draws loss and bits against time, a line per run, into a PNG file.
func sketch(file string, results []result) error {
	loss, bits := plot.New(), plot.New()
	loss.Title.Text, bits.Title.Text = "training loss", "bits per parameter"
	loss.Legend.Top = true
	for i, r := range results {
		line, err := plotter.NewLine(r.points(smoothed(r.steps)))
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		line.LineStyle = style(i)
		loss.Add(line)
		loss.Legend.Add(r.name, line)
		steps := make([]float64, len(r.steps))
		for j, s := range r.steps {
			steps[j] = float64(s.Bits)
		}
		if line, err = plotter.NewLine(r.points(steps)); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		line.LineStyle = style(i)
		bits.Add(line)
	}
	bits.Y.Min, bits.Y.Max = 0, 9
	for _, p := range []*plot.Plot{loss, bits} {
		p.X.Label.Text, p.X.Min = "virtual time (s)", 0
		p.Add(plotter.NewGrid())
		sans(p)
	}
	const width, height = 10 * vg.Inch, 4 * vg.Inch
	canvas := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(110))
	panels := [][]*plot.Plot{{loss, bits}}
	tiles := draw.Tiles{Rows: 1, Cols: 2, PadX: vg.Points(14), PadTop: 4, PadBottom: 4, PadLeft: 4, PadRight: 10}
	for i, cell := range plot.Align(panels, tiles, draw.New(canvas))[0] {
		panels[0][i].Draw(cell)
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	if _, err := (vgimg.PngCanvas{Canvas: canvas}).WriteTo(out); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}

// sans gives all texts of a plot the same typeface.
func sans(p *plot.Plot) {
	face := font.Font{Typeface: "Liberation", Variant: "Sans"}
	for _, text := range []*text.Style{
		&p.Title.TextStyle, &p.Legend.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label,
	} {
		size := text.Font.Size
		text.Font = face
		text.Font.Size = size
	}
}

// points pairs values with the times of the steps.
func (r result) points(values []float64) plotter.XYs {
	points := make(plotter.XYs, len(values))
	for i, v := range values {
		points[i] = plotter.XY{X: r.steps[i].Time.Seconds(), Y: v}
	}
	return points
}

// smoothed returns the mean losses around each step.
func smoothed(steps []record.Step) []float64 {
	losses := make([]float64, len(steps))
	for i, s := range steps {
		losses[i] = s.Loss
	}
	return record.Centred(losses, beside)
}

// style returns the colour (Okabe and Ito) and the dashes of the i-th line.
func style(i int) draw.LineStyle {
	colors := [...]color.Color{
		color.RGBA{0, 114, 178, 255}, color.RGBA{213, 94, 0, 255}, color.RGBA{0, 158, 115, 255},
		color.RGBA{204, 121, 167, 255}, color.RGBA{0, 0, 0, 255},
	}
	dashes := [...][]vg.Length{nil, {7, 3}, {2, 2.5}, {8, 2.5, 2, 2.5}, {14, 3}}
	return draw.LineStyle{Color: colors[i%len(colors)], Dashes: dashes[i%len(dashes)], Width: vg.Points(1.6)}
}
