package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/describe"
	"gossiptrainer/configs"
	"gossiptrainer/lab/bench"
	"gossiptrainer/lab/compare"
)

func newCompare(c *console) *cobra.Command {
	var o compare.Options
	var faults, merge []string // faults are refused
	var shard string
	cmd := &cobra.Command{
		Use:   "compare FILE [-- COMMAND...]",
		Short: "run algorithms against each other on several networks",
		Long: `run algorithms against each other on several networks

FILE is a comparison file or the name of an embedded one: networks, algorithms and seeds from
one run file. Every combination is a cell and is run by lab or sim. Started again with the
same folder, it resumes: finished cells with the same settings are not run again.
A cell that diverges is a result; if one fails, the others still run and the command exits
with ` + fmt.Sprint(exitCells) + `. COMMAND is your own script, for cells with model.name: external, in mode lab.

The folder gets a report, and the files that repeat the comparison with the same digests. Keys,
secrets and other folders are left out. With --shard, several machines make parts of the
cells; with --merge, their folders become one, with the report of a single run. Real peers
that end at a time or a target end in other rounds, and those of
` + asynchronous() + ` meet in another order: their digests differ.`,
		Example: `  peer compare moniqua-fig1 -o fig1
  peer compare my-comparison.yaml -o results --mode lab
  peer compare moniqua-fig1 -o quick --only D-PSGD --only 'Moniqua 8b' --set train.rounds=50
  peer compare moniqua-fig1 -o fig1 --shard 1/2
  peer compare moniqua-fig1 -o all --merge a/fig1 --merge b/fig1`,
		Args: c.scripted(1, 1, &o.Script),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(faults) > 0 {
				return advice.Usagef("compare: --fault: cells play the script of their run file: " +
					"use --set faults.script=[...], or a base with a script")
			}
			var err error
			if o.Shard, err = compare.ParseShard(shard); err != nil {
				return err
			}
			return runCompare(cmd.Context(), c, args[0], o, merge)
		},
	}
	addCells(cmd, &o)
	cmd.Flags().StringVar(&shard, "shard", "", "run only a `part` of the cells, as in 2/4: the second of four")
	cmd.Flags().StringArrayVar(&merge, "merge", nil,
		"take the cells of this shard's `folder` instead of running them; repeated")
	cmd.Flags().StringArrayVar(&faults, "fault", nil, "")
	_ = cmd.Flags().MarkHidden("fault")
	c.addJSON(cmd)
	c.addDash(cmd)
	cmd.ValidArgsFunction = completeNames(configs.Comparisons())
	return cmd
}

// addCells adds the flags that say which cells are run, and how.
func addCells(cmd *cobra.Command, o *compare.Options) {
	cmd.Flags().StringVarP(&o.Dir, "output", "o", "", "`folder` of the results (default: the comparison's name)")
	cmd.Flags().StringVar(&o.Mode, "mode", "", "run the cells by `lab|sim` instead of what the file says")
	cmd.Flags().StringArrayVar(&o.Only, "only", nil, "run only the cells of this `label`; may be repeated")
	cmd.Flags().StringArrayVar(&o.Set, "set", nil, "override a key in every cell, as in `key=value`; may be repeated")
	cmd.Flags().StringArrayVar((*[]string)(&o.Data), "data", nil,
		"`path` of a file or folder where the data are now; may be repeated")
	cmd.Flags().IntVar(&o.Jobs, "jobs", 0, "simulated `cells` that run side by side (default: one for each core)")
	cmd.Flags().BoolVar((*bool)(&o.Remake), "remake", false, "rerun cells whose results may differ in this version")
	_ = cmd.RegisterFlagCompletionFunc("set", completeKeys)
	_ = cmd.RegisterFlagCompletionFunc("only", completeLabels)
	_ = cmd.RegisterFlagCompletionFunc("mode", cobra.FixedCompletions([]string{"lab", "sim"},
		cobra.ShellCompDirectiveNoFileComp))
}

func runCompare(ctx context.Context, c *console, name string, o compare.Options, merge []string) error {
	file, err := configs.LoadComparison(name, os.Environ())
	if err != nil {
		return err
	}
	if err := c.runsCells(&o); err != nil {
		return err
	}
	if len(merge) > 0 {
		m, err := compare.Merge(ctx, file, o, merge)
		if err != nil {
			return err
		}
		return c.report([]string{m.Dir}, "")
	}
	if err := c.openDash(); err != nil {
		return err
	}
	m, err := compare.New(file, o)
	if err != nil {
		return err
	}
	c.sayDash()
	if err := c.showDash(m.Dir); err != nil {
		return err
	}
	if err := m.Do(ctx, thisCommand()); err != nil {
		return stopped(ctx, err)
	}
	if err := c.report([]string{m.Dir}, ""); err != nil {
		return err
	}
	return m.Failed()
}

// thisCommand returns the command line of this process.
func thisCommand() string { return advice.Command(append([]string{"peer"}, os.Args[1:]...)...) }

// runsCells completes the options of a command that runs cells: their program, and the terminal.
func (c *console) runsCells(o *compare.Options) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("compare: cannot find the path of this program: %w", err)
	}
	o.Process = compare.Process{
		Program: program, Version: describe.ReadBuild().Version, Command: compare.CommandLine(os.Args),
		Failed: exitOther, Diverged: exitTraining, Links: bench.LinkCosts,
	}
	o.Talk, o.Progress = c.talk(), func() compare.Progress { return c.newProgress() }
	c.loses(func() string {
		return "the same command goes on: simulated cells at their last checkpoints, other running cells from the beginning"
	})
	return nil
}
