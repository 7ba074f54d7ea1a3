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
	"gossiptrainer/internal/experiment"
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
		Use:   "sim [FILE]",
		Short: "train in one process, on a virtual clock over modelled links",
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
  peer sim ring8 --set train.rounds=10000 --until loss=0.4 --until time=10m`,
		Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("churn") || f.views != "" {
				return runViews(cmd, c, &file, args, f)
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
	cmd.Flags().StringVar(&f.views, "views", "", "replay a log of views: a `file`, or a run folder; with --churn write it")
	cmd.Flags().Float64Var(&f.churn, "churn", 0, "`chance` of a join, leave or death per member and exchange")
	addUntil(cmd, &f.until)
	file.addResume(cmd)
	return cmd
}

// runViews computes a run whose members come and go: that of a log, or one that it draws.
func runViews(cmd *cobra.Command, c *console, file *runFile, args []string, f simFlags) error {
	for _, other := range []string{"also", "until", "resume", "fault", "compute", "cores", "dash"} {
		if cmd.Flags().Changed(other) {
			return advice.Usagef("sim: --%s has no effect where members come and go (--views, --churn): leave it out", other)
		}
	}
	run, err := file.assembleFor("sim", args)
	if err != nil {
		return err
	}
	if !cmd.Flags().Changed("churn") {
		return c.answer(during(c, "replaying the views", func(*screen.Task) (*views.Result, error) {
			return views.Replay(run, f.views)
		}))
	}
	return c.answer(during(c, "drawing views", func(*screen.Task) (*views.Result, error) {
		most := 2 * run.N()
		return views.Draw(run, views.Churn{Rate: f.churn, Most: most}, cmp.Or(f.views, views.LogName))
	}))
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
	if len(f.also) > 0 && len(runs[0].Script()) > 0 {
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
	for i, run := range runs {
		talks[i] = *c
		talks[i].watch(i)
		s, err := talks[i].session(ctx, run, o)
		if err != nil {
			return err
		}
		defer s.End()
		s.EndAt(ends)
		sims[i] = &simulate.Run{Session: s, From: from, Beside: len(runs) - 1}
	}
	c.loses(sims[0].Lost)
	if err := simulate.Together(ctx, sims, f.timing); err != nil {
		if ctx.Err() != nil && sims[0].CannotKeep() == "" {
			c.sayStopped(sims[0].Session, sims[0].Again())
		}
		return stopped(ctx, err)
	}
	var alone error
	for i, s := range sims {
		err := talks[i].summarize(s.Session, s.Models)
		if err != nil && !isA[*session.AloneError](err) {
			return err
		}
		alone = cmp.Or(alone, err)
	}
	if alone != nil {
		return alone
	}
	c.next(file.again(sims[0].Session, "lab"), sims[0].WhyLab())
	return nil
}
