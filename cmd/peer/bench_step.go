package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"gossiptrainer/configs"
	"gossiptrainer/internal/app/advice"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/kernel"
)

// A stepReport is what "bench step" prints.
type stepReport struct {
	Tier string    `json:"tier"` // of vector instructions
	Rows []stepRow `json:"rows"`
}

// A stepRow is the model and data of one run file.
type stepRow struct {
	Run        string  `json:"run"`
	Model      string  `json:"model"`
	Parameters int     `json:"parameters"`
	Batch      int     `json:"batch"`
	Rate       float64 `json:"samples_per_s"`         // the best
	Peak       float64 `json:"peak_gflop_per_s"`      // of the machine's multiply-adds, the best; 0 without vector instructions
	PerSample  float64 `json:"peak_mflop_per_sample"` // operations that the machine could do in the time of a sample, medians
}

// multiplyAdds of one measurement of the peak: some milliseconds.
const multiplyAdds = 1 << 26

func newBenchStep(c *console) *cobra.Command {
	var set []string
	var times int
	cmd := &cobra.Command{
		Use:   "step [FILE]...",
		Short: "time gradients against the machine's peak",
		Long: `time gradients against the machine's peak

FILE is a run file or the name of a preset; without it, it is ` + defaultPreset + `. One thread takes the
gradients of worker 0: mini-batch, forward and backward pass, momentum. The reference
does nothing but multiply and add in registers, in turns with it.`,
		Example: "  peer bench step ring8-cifar\n  peer bench step ring8-fashion ring8-cifar --json",
		RunE: func(_ *cobra.Command, args []string) error {
			if times < 1 {
				return advice.Usagef("bench step: --times %d: must be at least 1", times)
			}
			if len(args) == 0 {
				args = []string{defaultPreset}
			}
			result := &stepReport{Tier: kernel.Best().String()}
			for _, name := range args {
				row, err := benchStep(name, set, times)
				if err != nil {
					return err
				}
				result.Rows = append(result.Rows, row)
			}
			return c.print(result, result.write)
		},
	}
	cmd.Flags().StringArrayVar(&set, "set", nil, "override a key of the run files, as in `key=value`; may be repeated")
	cmd.Flags().IntVar(&times, "times", 31, "`gradients` that are timed")
	c.addJSON(cmd)
	return cmd
}

func benchStep(name string, set []string, times int) (stepRow, error) {
	loaded, err := configs.Load(configs.Source{File: name, Env: os.Environ(), Set: set})
	if err != nil {
		return stepRow{}, err
	}
	run, err := assemble(loaded)
	if err != nil {
		return stepRow{}, err
	}
	w, err := run.Worker(0)
	if err != nil {
		return stepRow{}, err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var steps, peak sample
	done, err := timeGradients(w, times, &steps, &peak)
	if err != nil {
		return stepRow{}, err
	}
	cfg := run.Config()
	row := stepRow{Run: cfg.Name, Model: cfg.Model.Name, Parameters: run.Dim(), Batch: cfg.Train.Batch}
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
func timeGradients(w *experiment.Worker, times int, steps, peak *sample) (done int, err error) {
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
	}
	return done, nil
}

func (r *stepReport) write(w io.Writer) error {
	fmt.Fprintf(w, "vector instructions: %s; gradients of one thread, the best; what its peak could do per sample, medians\n\n", r.Tier)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "run\tmodel\tparameters\tbatch\tsamples/s\tpeak GFLOP/s\tpeak MFLOP/sample\t")
	for _, row := range r.Rows {
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%.0f\t%.1f\t%.1f\t\n", row.Run, row.Model, row.Parameters, row.Batch, row.Rate, row.Peak, row.PerSample)
	}
	return t.Flush()
}
