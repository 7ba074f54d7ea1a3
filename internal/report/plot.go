package report

import (
	"errors"
	"fmt"
	"image/color"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"gossiptrainer/internal/chart"
	"gossiptrainer/internal/record"
)

// WriteFigure draws a run's training loss against time. Further panels against rounds show, if they are on record, the
// largest difference between neighbours with the bound θ, the accuracy on the test set, and bits that change. Lines of
// workers are faint, the mean over the workers is bold. The format is png, svg or pdf.
func WriteFigure(w io.Writer, run *record.Run, format string) error {
	steps := byWorker(run.Events)
	if len(steps) == 0 {
		return errors.New("report: figure: the record holds no finished round")
	}
	panels, err := panelsOf(run, steps)
	if err != nil {
		return fmt.Errorf("report: figure: %w", err)
	}
	if len(panels) == 0 {
		return errors.New("report: figure: no step has a loss, and nothing else is on record: call peer.log(loss) in the " +
			"script")
	}
	rows := (len(panels) + 1) / 2
	canvas, err := chart.NewCanvas(format, chart.FigureWidth, vg.Length(rows)*chart.FigureHeight)
	if err != nil {
		return err
	}
	page := draw.New(canvas)
	for i := range rows {
		top := draw.Crop(page, 0, 0, vg.Length(rows-1-i)*chart.FigureHeight, -vg.Length(i)*chart.FigureHeight)
		chart.DrawPanels(top, panels[2*i:min(2*i+2, len(panels))]...)
	}
	if _, err := canvas.WriteTo(w); err != nil {
		return fmt.Errorf("report: figure: %w", err)
	}
	return nil
}

// panelsOf returns the panels for which a run has records.
func panelsOf(run *record.Run, steps [][]*record.Step) ([]*plot.Plot, error) {
	var panels []*plot.Plot
	if slices.ContainsFunc(slices.Concat(steps...), func(s *record.Step) bool { return !math.IsNaN(s.Loss) }) {
		loss, err := lossPanel(steps)
		if err != nil {
			return nil, err
		}
		panels = append(panels, loss)
	}
	if record.MeasuresGaps(run.Progress()) {
		gap, err := gapPanel(steps)
		if err != nil {
			return nil, err
		}
		panels = append(panels, gap)
	}
	if accuracy := accuracyPanel(run.Curve()); accuracy != nil {
		panels = append(panels, accuracy)
	}
	if changed(steps[0]) {
		bits, err := bitsPanel(steps[0])
		if err != nil {
			return nil, err
		}
		panels = append(panels, bits)
	}
	return panels, nil
}

// accuracyPanel shows the accuracy on the test set. It returns nil if no accuracy is on record.
func accuracyPanel(points []record.Point) *plot.Plot {
	p := chart.NewPanel("round", "accuracy on the test set")
	line := addCurve(p, points, chart.Styles([]string{""})[0], func(at record.Point) float64 { return at.Accuracy })
	if len(line.XYs) < 2 {
		return nil
	}
	widen(p)
	return p
}

// Format returns the format that a figure's file name asks for.
func Format(file string) string { return strings.TrimPrefix(filepath.Ext(file), ".") }

// byWorker groups the steps of a record by worker, keeping their order. It omits workers without steps.
func byWorker(events []record.Event) [][]*record.Step {
	of := make(map[int][]*record.Step)
	for _, e := range events {
		if e.Step != nil {
			of[e.Step.Rank] = append(of[e.Step.Rank], e.Step)
		}
	}
	var steps [][]*record.Step
	for _, rank := range slices.Sorted(maps.Keys(of)) {
		steps = append(steps, of[rank])
	}
	return steps
}

func lossPanel(steps [][]*record.Step) (*plot.Plot, error) {
	p := chart.NewPanel("time (s)", "mini-batch training loss")
	at := func(s *record.Step) plotter.XY { return plotter.XY{X: s.Time.Seconds(), Y: s.Loss} }
	return p, addLines(p, steps, at)
}

func gapPanel(steps [][]*record.Step) (*plot.Plot, error) {
	p := chart.NewPanel("round", "largest difference between neighbours")
	p.Legend.Top, p.Legend.Left = false, true
	p.Legend.XOffs, p.Legend.YOffs = vg.Points(6), vg.Points(6)
	at := func(s *record.Step) plotter.XY { return plotter.XY{X: float64(s.Round), Y: s.Gap} }
	if err := addLines(p, steps, at); err != nil {
		return nil, err
	}
	theta := thetaLine(steps[0])
	if len(theta) == 0 {
		return p, nil
	}
	line, err := newLine(theta, chart.Orange, 1.6)
	if err != nil {
		return nil, err
	}
	line.Dashes = []vg.Length{vg.Points(6), vg.Points(3)}
	p.Add(line)
	p.Legend.Add("bound θ", line)
	return p, nil
}

// thetaLine returns the bounds of a worker, and their means over spans of records where there are many.
func thetaLine(steps []*record.Step) plotter.XYs {
	bound := slices.DeleteFunc(slices.Clone(steps), func(s *record.Step) bool { return s.Theta <= 0 })
	mean, _ := spans([][]*record.Step{bound}, len(bound), spanOf(len(bound)), func(s *record.Step) plotter.XY {
		return plotter.XY{X: float64(s.Round), Y: s.Theta}
	})
	return mean
}

// spanOf returns how many records a point of a line stands for.
func spanOf(count int) int {
	if count <= mostRecords {
		return 1
	}
	return (count + mostRecords/2 - 1) / (mostRecords / 2)
}

// changed reports whether a worker's bits changed.
func changed(steps []*record.Step) bool {
	return slices.ContainsFunc(steps, func(s *record.Step) bool { return s.Bits != steps[0].Bits })
}

// bitsPanel shows the bits per parameter, which are the same at all workers.
func bitsPanel(steps []*record.Step) (*plot.Plot, error) {
	p := chart.NewPanel("round", "bits per parameter")
	var bits plotter.XYs
	for _, s := range steps {
		bits = append(bits, plotter.XY{X: float64(s.Round), Y: float64(s.Bits)})
	}
	line, err := newLine(bits, chart.Blue, 1.8)
	if err != nil {
		return nil, err
	}
	line.StepStyle = plotter.PreStep // a record covers the rounds up to it
	p.Add(line)
	p.Y.Min = 0
	return p, nil
}

// mostRecords of a worker have a line of their own. More would fill the panel with ink.
const mostRecords = 400

// addLines draws one faint line per worker and a bold one through the means of their records. Of long runs it draws the
// range of all records of a span of rounds as an area, and a point per span. The vertical axis is logarithmic if all
// values are positive.
func addLines(p *plot.Plot, steps [][]*record.Step, at func(*record.Step) plotter.XY) error {
	count := math.MaxInt
	for _, worker := range steps {
		count = min(count, len(worker))
	}
	if count > mostRecords {
		return addSpans(p, steps, count, at)
	}
	for _, worker := range steps {
		var thin plotter.XYs
		for _, s := range worker {
			if v := at(s); !math.IsNaN(v.Y) {
				thin = append(thin, v)
			}
		}
		if thin == nil {
			continue
		}
		line, err := newLine(thin, chart.Faint, 0.7)
		if err != nil {
			return err
		}
		p.Add(line)
	}
	bold, _ := spans(steps, count, 1, at)
	return addMean(p, bold, "mean over the peers")
}

// addSpans draws the means and the ranges of spans of records.
func addSpans(p *plot.Plot, steps [][]*record.Step, count int, at func(*record.Step) plotter.XY) error {
	length := spanOf(count)
	bold, outline := spans(steps, count, length, at)
	area, err := plotter.NewPolygon(outline)
	if err != nil {
		return err
	}
	area.Color, area.LineStyle.Width = chart.Faint, 0
	p.Add(area)
	p.Legend.Add("least to largest record", area)
	return addMean(p, bold, fmt.Sprintf("mean over peers and %d records", length))
}

// spans returns the means of spans of records over all workers, and the outline of their ranges, which keeps the
// extremes of every span.
func spans(steps [][]*record.Step, count, length int, at func(*record.Step) plotter.XY) (mean, outline plotter.XYs) {
	var lower plotter.XYs
	for from := 0; from < count; from += length {
		to := min(from+length, count)
		var sum plotter.XY
		least, most := math.Inf(1), math.Inf(-1)
		n, known := float64((to-from)*len(steps)), 0.0
		for _, worker := range steps {
			for _, s := range worker[from:to] {
				v := at(s)
				sum.X += v.X / n
				if math.IsNaN(v.Y) {
					continue
				}
				known++
				sum.Y += v.Y
				least, most = min(least, v.Y), max(most, v.Y)
			}
		}
		if known == 0 {
			continue
		}
		sum.Y /= known
		mean = append(mean, sum)
		outline = append(outline, plotter.XY{X: sum.X, Y: most})
		lower = append(lower, plotter.XY{X: sum.X, Y: least})
	}
	slices.Reverse(lower)
	return mean, append(outline, lower...)
}

// addMean draws the bold line and scales the axis.
func addMean(p *plot.Plot, bold plotter.XYs, name string) error {
	line, err := newLine(bold, chart.Blue, 1.8)
	if err != nil {
		return err
	}
	p.Add(line)
	p.Legend.Add(name, line)
	chart.Scale(p)
	return nil
}

func newLine(points plotter.XYs, c color.Color, width float64) (*plotter.Line, error) {
	line, err := plotter.NewLine(points)
	if err != nil {
		return nil, err
	}
	line.Color, line.Width = c, vg.Points(width)
	return line, nil
}
