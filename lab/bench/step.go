package bench

import (
	"fmt"
	"io"
	"runtime"
	"time"

	"gossiptrainer/app/advice"
	"gossiptrainer/internal/build"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/kernel"
)

// A StepReport is what "bench step" prints.
type StepReport struct {
	Tier string    `json:"tier"` // of vector instructions
	Rows []StepRow `json:"rows"`
}

// A StepRow is the model and data of one run file.
type StepRow struct {
	Run        string  `json:"run"`
	Model      string  `json:"model"`
	Parameters int     `json:"parameters"`
	Batch      int     `json:"batch"`
	Rate       float64 `json:"samples_per_s"` // the best
	// of the machine's multiply-adds, the best; 0 without vector instructions
	Peak float64 `json:"peak_gflop_per_s"`
	// operations that the machine could do in the time of a sample, medians
	PerSample float64 `json:"peak_mflop_per_sample"`
}

// multiplyAdds of one measurement of the peak: some milliseconds.
const multiplyAdds = 1 << 26

// A Subject is a run with a worker whose gradients are measured.
type Subject struct {
	Run, Model string // names
	Batch      int
	Build      func() (*build.Worker, error)
}

// Step takes a number of gradients of worker 0 of each run, at least one. watch hears how many are done.
func Step(runs []Subject, times int, watch func(done, all int64)) (*StepReport, error) {
	if times < 1 {
		return nil, advice.Usagef("bench step: --times %d: must be at least 1", times)
	}
	result := &StepReport{Tier: kernel.Best().String()}
	all := tally{all: int64(len(runs) * times), watch: watch}
	for _, run := range runs {
		row, err := measureStep(run, times, func() { all.add(1) })
		if err != nil {
			return nil, err
		}
		result.Rows = append(result.Rows, row)
	}
	return result, nil
}

// measureStep measures a run, and calls after after each gradient.
func measureStep(run Subject, times int, after func()) (StepRow, error) {
	w, err := run.Build()
	if err != nil {
		return StepRow{}, err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var steps, peak sample
	done, err := timeGradients(w, times, &steps, &peak, after)
	if err != nil {
		return StepRow{}, err
	}
	row := StepRow{Run: run.Run, Model: run.Model, Parameters: len(w.Machine.Params()), Batch: run.Batch}
	batch := float64(row.Batch)
	row.Rate = batch / steps.shortest().Seconds()
	if done == 0 {
		return row, nil
	}
	rate := func(took time.Duration) float64 { return 2 * float64(done) / took.Seconds() }
	row.Peak = rate(peak.shortest()) / 1e9
	row.PerSample = rate(peak.median()) * steps.median().Seconds() / batch / 1e6
	return row, nil
}

// timeGradients takes gradients and, in turns with them, the machine's peak. It
// returns how many multiply-adds one measurement of that has.
func timeGradients(w *build.Worker, times int, steps, peak *sample, after func()) (done int, err error) {
	x := w.Machine.Params()
	g := make([]float32, len(x))
	if _, err := w.Gradient(g, 0, x); err != nil { // warms up
		return 0, err
	}
	for k := range times {
		err := steps.take(func() error { _, err := w.Gradient(g, k+1, x); return err })
		if err != nil {
			return 0, err
		}
		_ = peak.take(func() error { done = kernel.Best().MultiplyAdds(multiplyAdds); return nil })
		after()
	}
	return done, nil
}

// Write prints the report as a table.
func (r *StepReport) Write(w io.Writer) error {
	fmt.Fprintf(w,
		"vector instructions: %s; gradients of one thread, the best; what its peak could do per sample, medians\n\n", r.Tier)
	t := human.AlignRight(w)
	fmt.Fprintln(t, "run\tmodel\tparameters\tbatch\tsamples/s\tpeak GFLOP/s\tpeak MFLOP/sample\t")
	for _, row := range r.Rows {
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%.0f\t%.1f\t%.1f\t\n", row.Run, row.Model, row.Parameters, row.Batch,
			row.Rate, row.Peak, row.PerSample)
	}
	return t.Flush()
}
