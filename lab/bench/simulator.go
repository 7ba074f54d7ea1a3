package bench

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"time"

	"gossiptrainer/app/advice"
	"gossiptrainer/configs"
	"gossiptrainer/internal/build"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/sim"
	"gossiptrainer/topology"
)

// A SimReport is what "bench sim" prints.
type SimReport struct {
	Cores int      `json:"cores"`
	Rows  []SimRow `json:"rows"`
}

// A SimRow is one size of run and number of bits.
type SimRow struct {
	Workers     int     `json:"workers"`
	Coordinates int     `json:"coordinates"`
	Bits        int     `json:"bits"`
	Rounds      int     `json:"rounds"`         // of a run
	Rate        float64 `json:"rounds_per_s"`   // the best, without assembly
	Updates     float64 `json:"updates_per_s"`  // rounds of single workers, likewise
	Events      float64 `json:"events_per_s"`   // likewise
	OverGrads   Figure  `json:"over_gradients"` // time of a round over that of its gradients alone, one after another
	Memory      int64   `json:"memory_bytes"`   // of the workers and the simulation while it runs
}

// A SimTask is one simulated run: workers on a ring descend quadratics.
type SimTask struct {
	Workers     int // at least 3
	Coordinates int // of a model, at least 1
	Bits        int // per coordinate: 32 is full precision
	Rounds      int
}

// NewSimTasks returns the tasks of all sizes, workers x coordinates, with all bits. A size like 100000x1000x8 names its
// own bits. Large runs have fewer rounds. Less than one round is a usage error.
func NewSimTasks(sizes []string, widths []int, rounds int) (tasks []SimTask, err error) {
	if rounds < 1 {
		return nil, advice.Usagef("bench sim: --rounds %d: must be at least 1", rounds)
	}
	for _, size := range sizes {
		own, narrow := widths, size
		if parts := strings.Split(size, "x"); len(parts) == 3 {
			bits, err := strconv.Atoi(parts[2])
			if err != nil || bits < 1 {
				return nil, advice.Usagef("bench sim: --size %s: want bits of at least 1 at the end", size)
			}
			own, narrow = []int{bits}, parts[0]+"x"+parts[1]
		}
		for _, bits := range own {
			task, err := newSimTask(narrow, bits, rounds)
			if err != nil {
				return nil, err
			}
			tasks = append(tasks, task)
		}
	}
	return tasks, nil
}

// mostSimulated bounds the coordinates of all workers and rounds of a run, unless two rounds have more.
const mostSimulated = 400_000_000

// newSimTask reads a size like 1000x10000, workers x coordinates.
func newSimTask(size string, bits, rounds int) (SimTask, error) {
	workers, dim, ok := strings.Cut(size, "x")
	n, err1 := strconv.Atoi(workers)
	d, err2 := strconv.Atoi(dim)
	if !ok || err1 != nil || err2 != nil || n < 3 || d < 1 {
		return SimTask{}, advice.Usagef(
			"bench sim: --size %s: want workers x coordinates, like 1000x10000, of at least 3 and 1", size)
	}
	return SimTask{n, d, bits, min(rounds, max(2, mostSimulated/n/d))}, nil
}

// config is the run file of the task.
func (t SimTask) config() configs.Config {
	cfg := configs.Default()
	cfg.Topology.Size, cfg.Train.Rounds = t.Workers, configs.Rounds(t.Rounds)
	cfg.Algorithm.Bits, cfg.Output.Every = t.Bits, t.Rounds
	cfg.Model.Name, cfg.Model.Dim, cfg.Model.Spread = "quadratic", t.Coordinates, 0.1
	if t.Bits == 32 {
		cfg.Algorithm.Codec = "full"
	}
	return cfg
}

// Sim measures all tasks several times each, at least once. watch hears how much is done, in
// updates of coordinates.
func Sim(ctx context.Context, tasks []SimTask, times int, watch func(done, all int64)) (*SimReport, error) {
	if times < 1 {
		return nil, advice.Usagef("bench sim: --times %d: must be at least 1", times)
	}
	result, all := &SimReport{Cores: runtime.GOMAXPROCS(0)}, tally{watch: watch}
	for _, task := range tasks {
		all.all += (int64(times) + 1) * task.updates() // once more for the memory
	}
	for _, task := range tasks {
		row, err := task.measure(ctx, times, func() { all.add(task.updates()) })
		if err != nil {
			return nil, err
		}
		result.Rows = append(result.Rows, row)
	}
	return result, nil
}

// updates returns how often one run of a task changes a coordinate.
func (t SimTask) updates() int64 { return int64(t.Workers) * int64(t.Coordinates) * int64(t.Rounds) }

// measure measures a task, and calls after after each run of it.
func (t SimTask) measure(ctx context.Context, times int, after func()) (SimRow, error) {
	row := SimRow{Workers: t.Workers, Coordinates: t.Coordinates, Bits: t.Bits, Rounds: t.Rounds}
	var runs, gradients sample
	events := 0
	for range times {
		workers, err := build.From(t.config())
		if err != nil {
			return SimRow{}, err
		}
		err = runs.take(func() error {
			events, err = t.run(ctx, workers, func() {})
			return err
		})
		if err != nil {
			return SimRow{}, err
		}
		if err := gradients.take(func() error { return gradientsAlone(workers, t.Rounds) }); err != nil {
			return SimRow{}, err
		}
		after()
	}
	seconds := runs.shortest().Seconds()
	row.Rate, row.Events = float64(t.Rounds)/seconds, float64(events)/seconds
	row.Updates = row.Rate * float64(t.Workers)
	for i := range gradients {
		gradients[i] *= time.Duration(t.Rounds)
	}
	row.OverGrads = runs.over(gradients)
	var err error
	row.Memory, err = t.memory(ctx)
	after()
	return row, err
}

// run simulates workers, as peer sim does, and returns the number of events. It calls look within the last round.
func (t SimTask) run(ctx context.Context, workers []*build.Worker, look func()) (
	events int, err error) {
	looked := false
	result, err := sim.Run(ctx, build.Tasks(workers), sim.Options{
		Compute:  func(topology.Rank, int) time.Duration { return time.Millisecond },
		Steady:   true,
		Together: build.Stacked(workers),
		Observe: func(record.Event) {
			if !looked {
				looked = true
				look()
			}
		},
	})
	return result.Events, err
}

// memory returns the bytes of the workers and the simulation in the second round.
func (t SimTask) memory(ctx context.Context) (int64, error) {
	t.Rounds = 2
	before := heap()
	workers, err := build.From(t.config())
	if err != nil {
		return 0, err
	}
	var bytes int64
	_, err = t.run(ctx, workers, func() { bytes = max(0, heap()-before) })
	return bytes, err
}

// gradientsAlone takes the gradients of round k, one after another.
func gradientsAlone(workers []*build.Worker, k int) error {
	g := make([]float32, len(workers[0].Machine.Params()))
	for _, w := range workers {
		if _, err := w.Gradient(g, k, w.Machine.Params()); err != nil {
			return err
		}
	}
	return nil
}

// heap returns the bytes that are in use. Of tiny runs nothing is left beside the garbage of others. A pool keeps its
// memory until the second collection.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Write prints the report as a table.
func (r *SimReport) Write(w io.Writer) error {
	fmt.Fprintf(w,
		"simulated rounds on %s, best of each; times over those of the gradients alone, medians (best)\n\n",
		human.Count(r.Cores, "core"))
	t := human.AlignRight(w)
	fmt.Fprintln(t, "workers\tcoordinates\tbits\trounds/s\tupdates/s\tevents/s\tover gradients\tmemory\t")
	for _, row := range r.Rows {
		fmt.Fprintf(t, "%d\t%d\t%d\t%.1f\t%.0f\t%.0f\t%.2f (%.2f)\t%s\t\n",
			row.Workers, row.Coordinates, row.Bits, row.Rate, row.Updates, row.Events, row.OverGrads.Median,
			row.OverGrads.Best, human.Size(row.Memory))
	}
	return t.Flush()
}
