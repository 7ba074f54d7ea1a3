package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/describe"
	"gossiptrainer/app/doctor"
	"gossiptrainer/configs"
	"gossiptrainer/lab/bench"
	"gossiptrainer/lab/plan"
)

func newPlan(c *console) *cobra.Command {
	var file runFile
	var output string
	var wait time.Duration
	r := plan.Request{Links: bench.LinkCosts}
	cmd := &cobra.Command{
		Use: "plan [FILE]", Short: plan.Short, Long: plan.Long, Example: plan.Example, Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			loaded, err := file.load(args)
			if err != nil {
				return err
			}
			r.Source = configs.Source{File: file.name, Env: os.Environ(), Set: file.set}
			r.Doctor = doctor.Request{Load: func() (*configs.Loaded, error) { return loaded, nil }, Pairs: true, Wait: wait,
				Build: describe.ReadBuild()}
			return runPlan(cmd.Context(), c, r, output)
		},
	}
	file.addFlags(cmd)
	flags := cmd.Flags()
	flags.StringSliceVar(&r.Axes.Algorithms, "algorithms", nil,
		"`names` to try (default: the file's, dpsgd, choco, allreduce)")
	flags.IntSliceVar(&r.Axes.Bits, "bits", nil, "`bits` per parameter to try (default: 32,8,4,2,1)")
	flags.StringSliceVar(&r.Axes.Graphs, "graphs", nil, "`kinds` to try (default: the file's and four more)")
	flags.IntSliceVar(&r.Axes.Steps, "steps", nil, "local `steps` to try (default: 1,2,4)")
	flags.StringArrayVar(&r.Until, "until", nil, "the target: `key=value`, as loss=0.5 (default: what D-PSGD reaches)")
	flags.DurationVar(&r.Budget, "budget", plan.Budget, "how `long` to measure and simulate")
	flags.IntVar(&r.Machines, "machines", 0, "`number` of machines, 1 or one for each (default: as the roster says)")
	flags.IntVar(&r.Cores, "cores", 0, "`cores` of a machine (default: those of this one)")
	flags.BoolVar(&r.Probe, "probe", false, "meet the machines of the roster and measure their links")
	flags.DurationVar(&wait, "wait", doctor.Wait, "how `long` to wait for the machines of the roster")
	flags.BoolVar(&r.Prove, "prove", false, "run the three best with real peers, a minute each at most")
	flags.StringVarP(&output, "output", "o", "", "`file` for the run file of the best")
	c.addJSON(cmd)
	return cmd
}

func runPlan(ctx context.Context, c *console, r plan.Request, output string) error {
	shown := c.newProgress()
	r.Progress = shown.Tell
	made, err := plan.Make(ctx, r)
	shown.Clear()
	if err != nil {
		return stopped(ctx, err)
	}
	if err := errors.Join(c.print(made, made.Write), made.Check()); err != nil || output == "" {
		return err
	}
	c.next(advice.Command("peer", "lab", output), "train with the best candidate")
	return made.WriteBest(output)
}
