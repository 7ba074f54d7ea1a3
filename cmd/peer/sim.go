package main

import (
	"context"
	"encoding/hex"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"gossiptrainer/experiment"
	"gossiptrainer/report"
	"gossiptrainer/sim"
	"gossiptrainer/topology"
	"gossiptrainer/train"
)

func newSim(c *console) *cobra.Command {
	var file runFile
	var compute time.Duration
	cmd := &cobra.Command{
		Use:   "sim [FILE]",
		Short: "train in one process, on a virtual clock over modelled links",
		Long: `train in one process, on a virtual clock over modelled links

The parameters are those of the same run with "peer lab" or on a LAN, bit for bit; those
of asynchronous workers (adpsgd) and of bits chosen by speed (mqgrad) depend on the times.
The time is what the links of the run file and the time of a gradient make it.`,
		Example: `  peer sim ring8
  peer sim ring8-fashion --compute 20ms --set limit.rate=100mbit --set limit.latency=1ms`,
		Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if compute < 0 {
				return usagef("sim: --compute %v: want 0 or more", compute)
			}
			return runSim(cmd.Context(), c, &file, args, compute)
		},
	}
	file.addFlags(cmd)
	c.addJSON(cmd)
	cmd.Flags().DurationVar(&compute, "compute", 0, "virtual `time` of a gradient (default: measured once)")
	return cmd
}

func runSim(ctx context.Context, c *console, file *runFile, args []string, compute time.Duration) error {
	run, err := file.assemble(args)
	if err != nil {
		return err
	}
	network, err := shapedNetwork(run.Config())
	if err != nil {
		return err
	}
	s, err := c.begin(ctx, run, "sim")
	if err != nil {
		return err
	}
	defer s.end()
	workers, err := run.Workers()
	if err != nil {
		return err
	}
	if compute == 0 {
		if compute, err = run.MeasureGradient(gradients); err != nil {
			return err
		}
	}
	means := newAverager(run, s.event)
	result, err := sim.Run(ctx, s.simWorkers(workers, means), sim.Options{
		Network: network,
		Entropy: run.Entropy(),
		Compute: func(rank topology.Rank, _ int) time.Duration {
			return time.Duration(float64(compute) * run.Slowdown(rank))
		},
		Rounds:  run.Config().Train.Rounds,
		Every:   run.Config().Output.Every,
		Observe: s.event,
	})
	if err != nil {
		return stopped(ctx, err)
	}
	models, err := s.concludeSim(ctx, workers, result)
	if err != nil {
		return stopped(ctx, err)
	}
	if err := means.conclude(models); err != nil {
		return err
	}
	if err := s.summarize(models); err != nil {
		return err
	}
	why := "the same run with real peers: the same digest"
	if run.Timed() {
		why = "the same run with real peers, which take their own time"
	}
	c.next(file.command("lab"), why)
	return nil
}

func (s *session) simWorkers(workers []*experiment.Worker, means *averager) []sim.Worker {
	simulated := make([]sim.Worker, len(workers))
	for i, w := range workers {
		evaluated := means.watched(scored(s.run, w, w.Gradient, s.event))
		simulated[i] = sim.Worker{
			Machine: w.Machine, Gradient: evaluated, Theta: w.Theta, Bits: w.Bits, Layout: w.Layout, Parameters: s.run.Parameters(),
		}
	}
	return simulated
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
	digest := train.Digest(w.Machine.Params())
	final := report.Final{
		Rank: rank, Rounds: result.Rounds[rank], Digest: hex.EncodeToString(digest[:]),
		Sent: result.Sent[rank], Messages: result.Messages[rank], ExtraMemory: int64(w.Machine.ExtraMemory()), Time: result.Time,
	}
	if err := conclude(&final, s.run, w, s.folder.dir); err != nil {
		return err
	}
	s.event(report.Event{Final: &final})
	return nil
}
