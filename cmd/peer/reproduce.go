package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"gossiptrainer/lab/reproduce"
)

func newReproduce(c *console) *cobra.Command {
	var size string
	o := reproduce.Options{Fetch: c.fetch}
	cmd := &cobra.Command{
		Use:   "reproduce NAME",
		Short: "test the claims of a paper, and write a page of verdicts",
		Long: `test the claims of a paper, and write a page of verdicts

NAME is ` + strings.Join(reproduce.Names(), ", ") + `. The command finds or fetches the data, runs
comparisons as "peer compare" does, and judges each claim by their cells: supported, not
supported, not decided, or not tested at this size. The size minutes has small models, night
ResNet-20, and paper the models of the paper, which take days to weeks on a few cores.

The folder gets index.html and claims.md, and for each comparison a folder with its cells,
figures and tables for LaTeX. Started again with the same folder, the command resumes. If
cells fail, the others are still run and judged.`,
		Example: `  peer reproduce moniqua
  peer reproduce d2 --size minutes -o d2
  peer reproduce moniqua --size night --jobs 1`,
		Args:      arguments(1, 1),
		ValidArgs: reproduce.Names(),
		RunE: func(cmd *cobra.Command, args []string) error {
			paper, size, err := reproduce.Find(args[0], size)
			if err != nil {
				return err
			}
			if err := c.runsCells(&o.Options); err != nil {
				return err
			}
			o.Again = thisCommand()
			run, err := reproduce.New(paper, size, o)
			if err != nil {
				return err
			}
			page, err := run.Do(cmd.Context())
			if page == nil {
				return stopped(cmd.Context(), err)
			}
			c.say("%s: %s", page.Path(), page.Tally())
			return errors.Join(c.print(page, page.Write), err)
		},
	}
	cmd.Flags().StringVar(&size, "size", reproduce.Minutes, "`size` of the runs: "+
		strings.Join(reproduce.SizeNames(), ", "))
	cmd.Flags().StringVarP(&o.Dir, "output", "o", "", "`folder` of the results (default: name and size)")
	cmd.Flags().IntVar(&o.Jobs, "jobs", 0, "simulated `cells` that run side by side (default: one for each core)")
	cmd.Flags().BoolVar((*bool)(&o.Remake), "remake", false, "rerun cells whose results may differ in this version")
	_ = cmd.RegisterFlagCompletionFunc("size", cobra.FixedCompletions(reproduce.SizeNames(),
		cobra.ShellCompDirectiveNoFileComp))
	c.addJSON(cmd)
	return cmd
}
