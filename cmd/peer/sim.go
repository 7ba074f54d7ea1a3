package main

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"gossiptrainer/configs"
	"gossiptrainer/internal/app/advice"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/registry"
	"gossiptrainer/internal/shape"
	"gossiptrainer/internal/sim"
	"gossiptrainer/internal/work"
	"gossiptrainer/topology"
)

// simFlags are the flags of peer sim.
type simFlags struct {
	compute time.Duration
	also    []string
	until   []string
}

// asynchronous names the algorithms whose results depend on the times.
func asynchronous() string {
	return strings.Join(registry.Names(registry.Algorithm.Asynchronous), ", ")
}

func newSim(c *console) *cobra.Command {
	var file runFile
	var f simFlags
	cmd := &cobra.Command{
		Use:   "sim [FILE]",
		Short: "train in one process, on a virtual clock over modelled links",
		Long: `train in one process, on a virtual clock over modelled links

The parameters are those of the same run with "peer lab" or on a LAN, bit for bit; those
of asynchronous workers (` + asynchronous() + `) and of bits chosen by speed (mqgrad) depend on the times.
The time is what the links of the run file and the time of a gradient make it. Since
links decide when and not what, the run may be simulated on several networks at once,
each with a folder and a result of its own, and takes every gradient once.

A run may end before its rounds are over: when its virtual time is up, or when it has
reached a loss or an accuracy as a report sees it. All workers then finish the rounds
that one of them has begun; the result is that of a run of so many rounds.`,
		Example: `  peer sim ring8
  peer sim ring8-fashion --compute 20ms --set limit.rate=100mbit --set limit.latency=1ms
  peer sim ring8 --set limit.rate=100mbit --also limit.rate=1mbit --also limit.loss=0.01
  peer sim ring8 --set train.rounds=10000 --until loss=0.4 --until time=10m`,
		Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.compute < 0 {
				return advice.Usagef("sim: --compute %v: want 0 or more", f.compute)
			}
			return runSim(cmd.Context(), c, &file, args, f)
		},
	}
	file.addFlags(cmd)
	c.addJSON(cmd)
	cmd.Flags().DurationVar(&f.compute, "compute", 0, "virtual `time` of a gradient (default: measured once)")
	cmd.Flags().StringArrayVar(&f.also, "also", nil, "another network, as limits: `key=value,...`; may be repeated")
	addUntil(cmd, &f.until)
	return cmd
}

func runSim(ctx context.Context, c *console, file *runFile, args []string, f simFlags) error {
	ends, err := parseUntil("sim", f.until)
	if err != nil {
		return err
	}
	if len(f.until) > 0 && len(f.also) > 0 {
		return advice.Usagef("sim: --until and --also: on another network a run ends after other rounds: one command for each")
	}
	runs, err := file.assembleAlso(args, f.also)
	if err != nil {
		return err
	}
	if err := ends.check(runs[0]); err != nil {
		return err
	}
	c.loses(func() string { return "the run is lost: a simulation keeps no state; start it again" })
	sims := make([]*simulated, len(runs))
	talks := *c
	for i, run := range runs {
		own := talks
		if sims[i], err = newSimulated(ctx, &own, run); err != nil {
			return err
		}
		defer sims[i].end()
		sims[i].endAt(ends)
		talks.quiet = true // one run is enough to look at
	}
	workers, err := experiment.Together(runs)
	if err != nil {
		return err
	}
	compute := f.compute
	if compute == 0 {
		if compute, err = runs[0].MeasureGradient(gradients); err != nil {
			return err
		}
	}
	if err := allAtOnce(ctx, len(sims), func(ctx context.Context, i int) error {
		return sims[i].train(ctx, workers[i], compute)
	}); err != nil {
		return stopped(ctx, err)
	}
	for _, s := range sims {
		if err := s.summarize(s.models); err != nil {
			return err
		}
	}
	why := "the same run with real peers: the same digest"
	switch {
	case runs[0].Timed():
		why = "the same run with real peers, which take their own time"
	case sims[0].looksAhead():
		why = "a run of as many rounds with real peers, whose step sizes follow from them: another digest"
	}
	c.next(sims[0].again(file, "lab"), why)
	return nil
}

// assembleAlso builds the run of the run file and those beside it on other
// networks, whose limits take the place of those of --set.
func (f *runFile) assembleAlso(args, networks []string) ([]*experiment.Run, error) {
	first, err := f.assembleFor("sim", args)
	if err != nil {
		return nil, err
	}
	runs := []*experiment.Run{first}
	for _, network := range networks {
		set, err := splitSettings(network)
		if err != nil || slices.ContainsFunc(set, func(s string) bool {
			return !strings.HasPrefix(s, limitPrefix) && !strings.HasPrefix(s, "output.dir=")
		}) {
			return nil, advice.Usagef("sim: --also %s: want limits and output.dir alone, as in limit.rate=1mbit,limit.latency=1ms", network)
		}
		loaded, err := configs.Load(configs.Source{File: f.name, Env: os.Environ(), Set: slices.Concat(withoutLimits(f.set), set)})
		if err != nil {
			return nil, err
		}
		run, err := first.Beside(loaded.Config)
		if err != nil {
			return nil, loaded.Locate(err)
		}
		runs = append(runs, run)
	}
	return runs, nil
}

// allAtOnce does something n times at once. The first error ends all.
func allAtOnce(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			if err := do(ctx, i); err != nil {
				cancel(err)
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// A simulated is a run on one network.
type simulated struct {
	*session
	network shape.Network
	models  [][]float32 // final ones, by rank
}

func newSimulated(ctx context.Context, c *console, run *experiment.Run) (*simulated, error) {
	network, err := shapedNetwork(run.Config())
	if err != nil {
		return nil, err
	}
	s, err := c.begin(ctx, run, "sim")
	return &simulated{session: s, network: network}, err
}

// train simulates the run to its end and reports the results.
func (s *simulated) train(ctx context.Context, workers []*experiment.Worker, compute time.Duration) error {
	means := newAverager(s.run, s.event)
	result, err := sim.Run(ctx, simulatedTasks(s.run, workers, means, s.event), sim.Options{
		Network: s.network,
		Compute: func(rank topology.Rank, _ int) time.Duration {
			return time.Duration(float64(compute) * s.run.Slowdown(rank))
		},
		Ending:  s.ends.sim(),
		Observe: s.event,
	})
	if err != nil {
		return err
	}
	s.ends.simulated(result.Time)
	if s.models, err = s.concludeSim(ctx, workers, result); err != nil {
		return err
	}
	return means.conclude(s.models, result.Rounds[0])
}

func simulatedTasks(run *experiment.Run, workers []*experiment.Worker, means *averager, scores func(record.Event)) []work.Task {
	tasks := experiment.Tasks(workers)
	for i, w := range workers {
		tasks[i].Gradient = means.watched(scored(run, w, w.Gradient, scores))
	}
	return tasks
}

// gradients are timed where the virtual time of one is not given: the first one
// warms up.
const gradients = 4

// concluding is how many results are made at a time: a model is on disk when it
// has been saved, so that much of this is waiting.
const concluding = 8

// concludeSim reports the results of all workers and returns their models.
func (s *session) concludeSim(ctx context.Context, workers []*experiment.Worker, result sim.Result) ([][]float32, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	models := make([][]float32, len(workers))
	for rank := range workers {
		s.event(record.Event{Status: &record.Status{Rank: rank, State: record.Testing}})
	}
	busy := make(chan struct{}, concluding)
	var all sync.WaitGroup
	for rank, w := range workers {
		models[rank] = w.Machine.Params()
		busy <- struct{}{}
		all.Go(func() {
			defer func() { <-busy }()
			if ctx.Err() != nil {
				return
			}
			if err := s.concludeWorker(w, rank, result); err != nil {
				cancel(err)
			}
		})
	}
	all.Wait()
	return models, context.Cause(ctx)
}

func (s *session) concludeWorker(w *experiment.Worker, rank int, result sim.Result) error {
	final := w.Final(record.Final{
		Rounds: result.Rounds[rank], Sent: result.Sent[rank], Messages: result.Messages[rank], Time: result.Time,
	})
	if err := conclude(&final, s.run, w, outlet{dir: s.folder.Dir, saver: s.saver}, s.testing(rank)); err != nil {
		return err
	}
	s.event(record.Event{Final: &final})
	return nil
}
