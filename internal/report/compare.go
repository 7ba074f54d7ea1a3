package report

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"gossiptrainer/internal/chart"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/record"
)

// WriteComparison draws the test accuracy and the test loss of runs against
// rounds, one line per run. format is png, svg or pdf.
func WriteComparison(w io.Writer, runs []*record.Run, format string) error {
	canvas, err := chart.NewCanvas(format, chart.FigureWidth, chart.FigureHeight)
	if err != nil {
		return err
	}
	accuracy := chart.NewPanel("round", "test accuracy")
	loss := chart.NewPanel("round", "test loss")
	names := Labels(runs)
	entries, styles := make([]chart.Entry, len(runs)), chart.Styles(names)
	for i, run := range runs {
		points := run.Curve()
		if len(points) < 2 {
			return fmt.Errorf("report: figure: %s holds %d scores, a curve needs 2: train with output.evaluate", run.Dir,
				len(points))
		}
		addCurve(loss, points, styles[i], func(p record.Point) float64 { return p.Loss })
		addCurve(accuracy, points, styles[i], func(p record.Point) float64 { return p.Accuracy })
		entries[i] = chart.Entry{Name: names[i], Style: styles[i]}
	}
	widen(accuracy)
	widen(loss)
	page := draw.New(canvas)
	height := chart.DrawLegend(page, entries)
	chart.DrawPanels(draw.Crop(page, 0, 0, 0, -height), accuracy, loss)
	if _, err := canvas.WriteTo(w); err != nil {
		return fmt.Errorf("report: figure: %w", err)
	}
	return nil
}

// addCurve draws one value of a run where it is a number.
func addCurve(p *plot.Plot, of []record.Point, style draw.LineStyle, value func(record.Point) float64) *plotter.Line {
	line := &plotter.Line{LineStyle: style}
	for _, at := range of {
		if v := value(at); record.Number(v) != nil {
			line.XYs = append(line.XYs, plotter.XY{X: float64(at.Round), Y: v})
		}
	}
	if len(line.XYs) > 0 {
		p.Add(line)
	}
	return line
}

// widen makes a panel begin at round 0 and keeps its curves off its edges.
func widen(p *plot.Plot) {
	if span := p.Y.Max - p.Y.Min; span >= 0 { // there are curves
		const margin = 0.04
		p.X.Min = 0
		p.Y.Min -= margin * span
		p.Y.Max += margin * span
	}
}

// Labels names runs by their method, and by what else tells them apart: run file, mode, graph and seed. It adds the
// folder where that is not enough, and names a run without a summary by it.
func Labels(runs []*record.Run) []string {
	labels := make([]string, len(runs))
	var known []*record.Summary
	for _, run := range runs {
		if run.Summary != nil {
			known = append(known, run.Summary)
		}
	}
	others := telling(known)
	count := map[string]int{}
	for i, run := range runs {
		if run.Summary == nil {
			labels[i] = filepath.Base(run.Dir)
			continue
		}
		labels[i] = method(run.Summary)
		for _, o := range others {
			labels[i] += ", " + o.name + o.of(run.Summary)
		}
		count[labels[i]]++
	}
	for i, run := range runs {
		if count[labels[i]] > 1 {
			labels[i] += " (" + filepath.Base(run.Dir) + ")"
		}
	}
	return labels
}

// A trait is what may tell runs of one algorithm apart.
type trait struct {
	head, name string // of a column, and in words
	of         func(*record.Summary) string
}

// telling returns the traits in which runs differ.
func telling(runs []*record.Summary) []trait {
	return slices.DeleteFunc([]trait{
		{"RUN", "", func(s *record.Summary) string { return s.Run }},
		{"MODE", "", func(s *record.Summary) string { return s.Mode }},
		{"GRAPH", "", func(s *record.Summary) string { return s.Graph }},
		{"PEERS", "peers ", func(s *record.Summary) string { return strconv.Itoa(s.Peers) }},
		{"SEED", "seed ", func(s *record.Summary) string { return strconv.FormatUint(s.Seed, 10) }},
	}, func(t trait) bool {
		return !slices.ContainsFunc(runs, func(s *record.Summary) bool { return t.of(s) != t.of(runs[0]) })
	})
}

// WriteRuns prints a table of finished runs, a line for each, with what tells them apart. If a run used an entropy
// coder, the table has the sizes after coding.
func WriteRuns(w io.Writer, runs []*record.Summary) error {
	t := human.AlignRight(w)
	coded := slices.ContainsFunc(runs, func(s *record.Summary) bool { return coder(s) != noCoder })
	head := ""
	traits := telling(runs)
	for _, one := range traits {
		head += one.head + "\t"
	}
	head += "ALGORITHM\tACCURACY\tLEAST\tAVERAGE MODEL\tTEST LOSS\tPAYLOAD PER PEER\tTIME\t"
	if coded {
		head += "ENTROPY\tSTREAM PER PEER\tBITS PER PARAMETER\t"
	}
	fmt.Fprintln(t, head)
	for _, s := range runs {
		for _, one := range traits {
			fmt.Fprintf(t, "%s\t", one.of(s))
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s s\t", method(s),
			human.Places(s.Accuracy.Mean), human.Places(s.Accuracy.Min), human.Places(s.Accuracy.AverageModel),
			human.Number(s.Loss), human.Size(s.BytesPerPeer.Payload), human.Number(&s.Time))
		if coded {
			fmt.Fprintf(t, "%s\t%s\t%s\t", coder(s), human.Size(s.BytesPerPeer.Stream), human.Number(&s.Effective))
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}
