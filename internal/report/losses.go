package report

import (
	"fmt"
	"io"
	"math"
	"time"

	"gossiptrainer/internal/chart"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/record"
)

// WriteLosses prints the training losses of runs, a line for each: the last loss, and the loss at the last round that
// all runs have on record.
func WriteLosses(w io.Writer, runs []*record.Run) error {
	moments, common := make([][]record.Moment, len(runs)), math.Inf(1)
	for i, run := range runs {
		moments[i] = run.Progress()
		if len(moments[i]) == 0 {
			return fmt.Errorf("report: %s: no round of all workers is on record", run.Dir)
		}
		common = min(common, last(moments[i]).Round)
	}
	t := human.AlignRight(w)
	fmt.Fprintf(t, "RUN\tROUNDS\tTIME\tTRAIN LOSS\tAT ROUND %.0f\tTIME\t\n", common)
	for i, name := range Labels(runs) {
		end, then := last(moments[i]), at(moments[i], common)
		fmt.Fprintf(t, "%s\t%.0f\t%s\t%s\t%s\t%s\t\n", name,
			end.Round, inSeconds(end.Time), human.Places(record.Number(end.Loss)),
			human.Places(record.Number(then.Loss)), inSeconds(then.Time))
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// WriteLossFigure draws the training losses of runs, means over their workers, against rounds and
// against time. format is png, svg or pdf.
func WriteLossFigure(w io.Writer, runs []*record.Run, format string) error {
	rounds, times := chart.Lines{X: "round", Y: "training loss"}, chart.Lines{X: "time (s)", Y: "training loss"}
	for i, name := range Labels(runs) {
		round, time := chart.Line{Name: name}, chart.Line{Name: name}
		for _, m := range runs[i].Progress() {
			if m.Loss > 0 && record.Number(m.Loss) != nil { // the axis is logarithmic
				round.X, round.Y = append(round.X, m.Round), append(round.Y, m.Loss)
				time.X, time.Y = append(time.X, m.Time.Seconds()), append(time.Y, m.Loss)
			}
		}
		if len(round.X) < 2 {
			return fmt.Errorf("report: figure: %s holds %d losses above 0, a curve needs 2", runs[i].Dir, len(round.X))
		}
		rounds.Lines, times.Lines = append(rounds.Lines, round), append(times.Lines, time)
	}
	return chart.WriteLines(w, rounds, times, format)
}

func last(moments []record.Moment) record.Moment { return moments[len(moments)-1] }

// at returns the last moment up to a round, or the first moment if there is none.
func at(moments []record.Moment, round float64) record.Moment {
	found := moments[0]
	for _, m := range moments {
		if m.Round <= round {
			found = m
		}
	}
	return found
}

func inSeconds(d time.Duration) string {
	s := d.Seconds()
	return human.Number(&s) + " s"
}
