package main

import (
	"cmp"
	"context"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/screen"
	"gossiptrainer/app/session"
	"gossiptrainer/configs"
	"gossiptrainer/internal/cost"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/registry"
	"gossiptrainer/lab/bench"
	"gossiptrainer/lab/compare"
	"gossiptrainer/lab/simulate"
	"gossiptrainer/lab/views"
)

// simFlags are the flags of peer sim.
type simFlags struct {
	timing simulate.Timing
	also   []string
	until  []string
	views  string
	churn  float64
}

// asynchronous names the algorithms whose results depend on the times.
func asynchronous() string {
	return strings.Join(registry.Names(registry.Algorithm.Asynchronous), ", ")
}

func newSim(c *console) *cobra.Command {
	var file runFile
	var f simFlags
	cmd := &cobra.Command{
		Use:        "sim [FILE]",
		SuggestFor: []string{"simulate"},
		Short:      "train in one process, on a virtual clock over modelled links",
		Long: `train in one process, on a virtual clock over modelled links

The parameters are those of the same run with "peer lab" or on a LAN, bit for bit; those
of asynchronous workers (` + asynchronous() + `) and of bits chosen by speed (mqgrad) depend on the times.
The time is what the links of the run file and the time of a gradient make it. Since
links decide when and not what, the run may be simulated on several networks at once,
each with a folder and a result of its own, and takes every gradient once.
With --compute measured coding and links take time as measured before; the costs are printed.

A run may end before its rounds are over: when its virtual time is up, or when it has
reached a loss or an accuracy as a report sees it. All workers then finish the rounds
that one of them has begun; the result is that of a run of that many rounds.`,
		Example: `  peer sim ring8
  peer sim ring8-fashion --compute measured --cores 2 --set limit.rate=100mbit
  peer sim ring8 --set limit.rate=100mbit --also limit.rate=1mbit,limit.loss=0.01
  peer sim ring8 --set train.rounds=10000 --until loss=0.4 --until time=10m
  peer sim members --fault 'at=50 join=1' --fault 'at=100 die=3'`,
		Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.views != "" {
				return replayViews(cmd, c, &file, args, f.views)
			}
			if loaded, err := file.load(args); err == nil && f.comeAndGo(cmd, loaded) {
				return simViews(cmd, c, &file, args, f)
			}
			return runSim(cmd.Context(), c, &file, args, f)
		},
	}
	file.addFlags(cmd)
	file.addFaults(cmd)
	c.addJSON(cmd)
	c.addDash(cmd)
	cmd.Flags().Var(&f.timing.Compute, "compute", "virtual `time` of a gradient (default: measured), measured, or costs")
	cmd.Flags().UintVar(&f.timing.Cores, "cores", 0, "processors that all workers share (default: each has its own)")
	cmd.Flags().StringArrayVar(&f.also, "also", nil, "another network, as limits: `key=value,...`; may be repeated")
	cmd.Flags().StringVar(&f.views, "views", "", "replay a log of views: a `file`, or a run folder")
	cmd.Flags().Float64Var(&f.churn, "churn", 0, "`chance` of a join, leave or death per member and exchange")
	addUntil(cmd, &f.until)
	file.addResume(cmd)
	return cmd
}

// comeAndGo reports whether members join, leave or die in a run.
func (f simFlags) comeAndGo(cmd *cobra.Command, loaded *configs.Loaded) bool {
	return cmd.Flags().Changed("churn") || loaded.Config.Views() && len(loaded.Config.Faults.Script) > 0
}

// without refuses flags that have no effect where members come and go.
func without(cmd *cobra.Command, flags ...string) error {
	for _, other := range flags {
		if cmd.Flags().Changed(other) {
			return advice.Usagef("sim: --%s has no effect where members come and go: leave it out", other)
		}
	}
	return nil
}

// replayViews computes the run of a log.
func replayViews(cmd *cobra.Command, c *console, file *runFile, args []string, log string) error {
	if cmd.Flags().Changed("churn") {
		return advice.Usagef("sim: --churn has no effect where members come and go from a log (--views): leave it out")
	}
	if err := without(cmd, "also", "until", "resume", "compute", "cores", "dash"); err != nil {
		return err
	}
	run, err := file.assembleFor("sim", args)
	if err != nil {
		return err
	}
	return c.answer(during(c, "replaying the views", func(*screen.Task) (*views.Result, error) {
		return views.Replay(run, log)
	}))
}

// simViews simulates a run whose members come and go.
func simViews(cmd *cobra.Command, c *console, file *runFile, args []string, f simFlags) error {
	if err := without(cmd, "also", "until", "resume", "cores"); err != nil {
		return err
	}
	if costs := f.timing.Compute; costs.Measured || costs.Costs != (cost.Costs{Gradient: costs.Gradient}) {
		return advice.Usagef("sim: --compute %v: where members come and go it is the time of a gradient, like 20ms", costs)
	}
	run, err := file.assembleFor("sim", args)
	if err != nil {
		return err
	}
	s, err := c.session(cmd.Context(), run, session.Options{Mode: "sim",
		Costs: cost.Costs{Gradient: cmp.Or(f.timing.Compute.Gradient, views.Gradient)}})
	if err != nil {
		return err
	}
	defer s.End()
	models, log, err := views.Train(cmd.Context(), s, views.Happening{Churn: f.churn, Compute: s.Costs.Gradient})
	if err != nil {
		return err
	}
	if err := c.summarize(s, models, log); err != nil {
		return err
	}
	if run.Method().Asynchronous() { // no log has the times of its pairs
		return nil
	}
	c.next(file.command("sim")+" --views "+advice.Command(s.Folder.Dir),
		"the same run from its log of views: the same digest")
	return nil
}

// runs assembles the run of a run file, and the same on other networks.
func (f simFlags) runs(file *runFile, args []string, ends session.Until) ([]*experiment.Run, error) {
	if len(f.until) > 0 && len(f.also) > 0 {
		return nil, advice.Usagef("sim: --until and --also: on another network a run ends after other rounds: one command " +
			"for each")
	}
	first, err := file.assembleFor("sim", args)
	if err != nil {
		return nil, err
	}
	runs, err := compare.Beside(first, configs.Source{File: file.name, Env: os.Environ(), Set: file.set,
		Faults: file.faults}, f.also)
	if err != nil {
		return nil, err
	}
	if err := ends.Check(runs[0]); err != nil {
		return nil, err
	}
	if len(f.also) > 0 && len(runs[0].Config().Faults.Script) > 0 {
		return nil, advice.Usagef("sim: faults and --also: workers that die take gradients once more: " +
			"one command for each network")
	}
	return runs, nil
}

func runSim(ctx context.Context, c *console, file *runFile, args []string, f simFlags) error {
	ends, err := session.ParseUntil("sim", f.until)
	if err != nil {
		return err
	}
	file.scored = ends.Targets.Accuracy > 0
	o := session.Options{Mode: "sim"}
	var from *simulate.Resumed
	runs, err := during(c, "preparing the run", func(*screen.Task) (runs []*experiment.Run, err error) {
		if runs, err = f.runs(file, args, ends); err == nil && file.resume {
			from, err = simulate.Find(runs, file.folder, ends)
		}
		if err == nil && from == nil {
			err = f.timing.Measure(ctx, runs, bench.LinkCosts)
		}
		return runs, err
	})
	if err != nil {
		return err
	}
	if from != nil {
		o.Dir, o.Place = from.Dir, from.Place
	}
	sims, talks := make([]*simulate.Run, len(runs)), make([]console, len(runs))
	var log []record.Membership
	for i, run := range runs {
		talks[i] = *c
		talks[i].watch(i)
		s, err := talks[i].session(ctx, run, o)
		if err != nil {
			return err
		}
		defer s.End()
		if cfg := run.Config(); cfg.Views() {
			if log, err = views.Found(s); err != nil {
				return err
			}
		}
		s.EndAt(ends)
		sims[i] = &simulate.Run{Session: s, From: from, Beside: len(runs) - 1}
	}
	c.loses(sims[0].Lost)
	c.resort.Extend(sims[0].Leaving())
	if err := simulate.Together(ctx, sims, f.timing); err != nil {
		if ctx.Err() != nil && sims[0].CannotKeep() == "" {
			c.sayStopped(sims[0].Session, sims[0].Again())
		}
		return stopped(ctx, err)
	}
	if err := summarizeAll(talks, sims, log); err != nil {
		return err
	}
	c.next(file.again(sims[0].Session, "lab"), sims[0].WhyLab())
	return nil
}

// summarizeAll summarizes runs. An error about workers without a neighbour comes after the summaries.
func summarizeAll(talks []console, sims []*simulate.Run, log []record.Membership) error {
	var alone error
	for i, s := range sims {
		err := talks[i].summarize(s.Session, s.Models, log)
		if err != nil && !advice.Is[*session.AloneError](err) {
			return err
		}
		alone = cmp.Or(alone, err)
	}
	return alone
}
