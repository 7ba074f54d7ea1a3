package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"gossiptrainer/configs"
	"gossiptrainer/internal/app/advice"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/report"
	"gossiptrainer/internal/sim"
	"gossiptrainer/topology"
)

// A simReport is what "bench sim" prints.
type simReport struct {
	Cores int      `json:"cores"`
	Rows  []simRow `json:"rows"`
}

// A simRow is one size of run and number of bits.
type simRow struct {
	Workers     int     `json:"workers"`
	Coordinates int     `json:"coordinates"`
	Bits        int     `json:"bits"`
	Rate        float64 `json:"rounds_per_s"`   // the best, without assembly
	Events      float64 `json:"events_per_s"`   // likewise
	OverGrads   figure  `json:"over_gradients"` // time of a round over that of its gradients alone, one after another
	Memory      int64   `json:"memory_bytes"`   // of the workers and the simulation, at the end
}

func newBenchSim(c *console) *cobra.Command {
	var sizes []string
	var widths []int
	var rounds, times int
	cmd := &cobra.Command{
		Use:   "sim",
		Short: "time simulated rounds against their gradients alone",
		Long: `time simulated rounds against their gradients alone

Workers on a ring descend quadratics, with the algorithm of the default run file: full
precision at 32 bits, otherwise Moniqua with verification. The reference takes the
gradients of a round one after another. Digests and model files are left out.`,
		Example: "  peer bench sim\n  peer bench sim --size 1000x10000 --bits 8 --json",
		Args:    arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if rounds < 1 || times < 1 {
				return advice.Usagef("bench sim: --rounds %d, --times %d: must be at least 1", rounds, times)
			}
			result := &simReport{Cores: runtime.GOMAXPROCS(0)}
			for _, size := range sizes {
				for _, bits := range widths {
					row, err := benchSim(cmd.Context(), size, bits, rounds, times)
					if err != nil {
						return err
					}
					result.Rows = append(result.Rows, row)
				}
			}
			return c.print(result, result.write)
		},
	}
	cmd.Flags().StringSliceVar(&sizes, "size", []string{"1000x10000", "10000x100"}, "`workers x coordinates`")
	cmd.Flags().IntSliceVar(&widths, "bits", []int{32, 8}, "`bits` per coordinate")
	cmd.Flags().IntVar(&rounds, "rounds", 20, "rounds of one run")
	cmd.Flags().IntVar(&times, "times", 3, "`times` that everything is measured")
	c.addJSON(cmd)
	return cmd
}

// simConfig is the run file of a size like 1000x10000.
func simConfig(size string, bits, rounds int) (configs.Config, error) {
	workers, dim, ok := strings.Cut(size, "x")
	n, err1 := strconv.Atoi(workers)
	d, err2 := strconv.Atoi(dim)
	if !ok || err1 != nil || err2 != nil || n < 3 || d < 1 {
		return configs.Config{}, advice.Usagef("bench sim: --size %s: want workers x coordinates, like 1000x10000, of at least 3 and 1", size)
	}
	cfg := configs.Default()
	cfg.Topology.Size, cfg.Train.Rounds, cfg.Algorithm.Bits, cfg.Output.Every = n, rounds, bits, rounds
	cfg.Model.Name, cfg.Model.Dim, cfg.Model.Spread = "quadratic", d, 0.1
	if bits == 32 {
		cfg.Algorithm.Codec = "full"
	}
	return cfg, nil
}

func benchSim(ctx context.Context, size string, bits, rounds, times int) (simRow, error) {
	cfg, err := simConfig(size, bits, rounds)
	if err != nil {
		return simRow{}, err
	}
	row := simRow{Workers: cfg.Topology.Size, Coordinates: cfg.Model.Dim, Bits: bits}
	var runs, gradients sample
	events := 0
	for range times {
		before := heap()
		run, err := experiment.New(cfg)
		if err != nil {
			return simRow{}, err
		}
		workers, err := run.Workers()
		if err != nil {
			return simRow{}, err
		}
		err = runs.take(func() error {
			result, err := sim.Run(ctx, experiment.Tasks(workers), sim.Options{
				Compute: func(topology.Rank, int) time.Duration { return time.Millisecond },
				Observe: func(record.Event) {},
			})
			events = result.Events
			return err
		})
		if err != nil {
			return simRow{}, stopped(ctx, err)
		}
		row.Memory = max(row.Memory, heap()-before)
		if err := gradients.take(func() error { return gradientsAlone(workers, rounds) }); err != nil {
			return simRow{}, err
		}
	}
	seconds := runs.shortest().Seconds()
	row.Rate, row.Events = float64(rounds)/seconds, float64(events)/seconds
	for i := range gradients {
		gradients[i] *= time.Duration(rounds)
	}
	row.OverGrads = runs.over(gradients)
	return row, nil
}

// gradientsAlone takes the gradients of round k, one after another.
func gradientsAlone(workers []*experiment.Worker, k int) error {
	g := make([]float32, len(workers[0].Machine.Params()))
	for _, w := range workers {
		if _, err := w.Gradient(g, k, w.Machine.Params()); err != nil {
			return err
		}
	}
	return nil
}

// heap returns the bytes that are in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func (r *simReport) write(w io.Writer) error {
	fmt.Fprintf(w, "simulated rounds on %d cores, best of each; times over those of the gradients alone, medians (best)\n\n", r.Cores)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "workers\tcoordinates\tbits\trounds/s\tevents/s\tover gradients\tmemory\t")
	for _, row := range r.Rows {
		fmt.Fprintf(t, "%d\t%d\t%d\t%.1f\t%.0f\t%.2f (%.2f)\t%s\t\n",
			row.Workers, row.Coordinates, row.Bits, row.Rate, row.Events, row.OverGrads.Median, row.OverGrads.Best, report.Size(row.Memory))
	}
	return t.Flush()
}
