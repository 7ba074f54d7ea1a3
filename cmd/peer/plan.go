package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"gossiptrainer/configs"
	"gossiptrainer/internal/app/advice"
	"gossiptrainer/internal/app/bench"
	"gossiptrainer/internal/app/doctor"
	"gossiptrainer/internal/app/inspect"
	"gossiptrainer/internal/app/plan"
)

// planFlags are the flags of peer plan that are not those of the request.
type planFlags struct {
	output string
	prove  bool
	probe  bool
	wait   time.Duration
}

func newPlan(c *console) *cobra.Command {
	var file runFile
	var r plan.Request
	var f planFlags
	cmd := &cobra.Command{
		Use: "plan [FILE]", Short: plan.Short, Long: plan.Long, Example: plan.Example, Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runPlan(cmd.Context(), c, &file, args, r, f)
		},
	}
	file.addFlags(cmd)
	flags := cmd.Flags()
	flags.StringSliceVar(&r.Axes.Algorithms, "algorithms", nil, "`names` to try (default: the file's, dpsgd, choco, allreduce)")
	flags.IntSliceVar(&r.Axes.Bits, "bits", nil, "`bits` per parameter to try (default: 32,8,4,2,1)")
	flags.StringSliceVar(&r.Axes.Graphs, "graphs", nil, "`kinds` to try (default: the file's and four more)")
	flags.IntSliceVar(&r.Axes.Steps, "steps", nil, "local `steps` to try (default: 1,2,4)")
	flags.StringArrayVar(&r.Until, "until", nil, "the target, loss=0.5 or accuracy=0.9 (default: what D-PSGD reaches)")
	flags.DurationVar(&r.Budget, "budget", plan.Budget, "how `long` to measure and simulate")
	flags.IntVar(&r.Machines, "machines", 0, "machines of the workers, 1 or `one for each` (default: as the roster says)")
	flags.IntVar(&r.Cores, "cores", 0, "`cores` of a machine (default: those of this one)")
	flags.BoolVar(&f.probe, "probe", false, "meet the machines of the roster and measure their links")
	flags.DurationVar(&f.wait, "wait", doctor.Wait, "how `long` to wait for the machines of the roster")
	flags.BoolVar(&f.prove, "prove", false, "run the three best with real peers on this machine, a minute each at most")
	flags.StringVarP(&f.output, "output", "o", "", "`file` for the run file of the best")
	c.addJSON(cmd)
	return cmd
}

func runPlan(ctx context.Context, c *console, file *runFile, args []string, r plan.Request, f planFlags) error {
	loaded, err := file.load(args)
	if err != nil {
		return err
	}
	r.Source = configs.Source{File: file.name, Env: os.Environ(), Set: file.set}
	if f.prove {
		r.Prove = plan.Proving
	}
	if f.probe {
		r.Probe = func(ctx context.Context) (*doctor.Report, error) {
			return doctor.Examine(ctx, doctor.Request{Load: func() (*configs.Loaded, error) { return loaded, nil }, Pairs: true,
				Wait: f.wait, Build: inspect.ReadBuild()})
		}
	}
	if r.Process.Program, err = os.Executable(); err != nil {
		return fmt.Errorf("plan: cannot find the path of this program: %w", err)
	}
	r.Process.Links = bench.LinkCosts
	shown := c.newProgress()
	r.Progress = shown.Tell
	made, err := plan.Make(ctx, r)
	shown.Clear()
	if err != nil {
		return stopped(ctx, err)
	}
	if err := errors.Join(c.print(made, made.Write), made.Check()); err != nil {
		return err
	}
	if f.output != "" {
		if err := made.WriteBest(f.output); err != nil {
			return err
		}
		c.next(advice.Command("peer", "lab", f.output), "train with the best candidate")
	}
	return nil
}
