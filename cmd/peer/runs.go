package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/runfolder"
	"gossiptrainer/app/screen"
)

func newRuns(c *console) *cobra.Command {
	var filters []string
	cmd := &cobra.Command{
		Use:        "runs [FOLDER]",
		SuggestFor: []string{"ls", "list", "ps", "history"},
		Short:      "list past and present runs, compare two, remove old ones",
		Long:       runfolder.About,
		Example:    runfolder.Example,
		Args:       arguments(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			list, err := during(c, "reading runs", func(t *screen.Task) (*runfolder.List, error) {
				return runfolder.RunsIn(strings.Join(args, ""), filters, t.Reach)
			})
			if err != nil {
				return err
			}
			return c.print(list, func(w io.Writer) error { return list.Write(w, c.out.Width()) })
		},
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
	}
	cmd.Flags().StringArrayVar(&filters, "filter", nil, "only runs with this `key=value`; may be repeated")
	_ = cmd.RegisterFlagCompletionFunc("filter", completeKeys)
	c.addJSON(cmd)
	compare := &cobra.Command{
		Use:     "compare A B",
		Short:   runfolder.AboutCompare,
		Example: "  peer runs compare ring8-20261121-100500 ring8-20261121-101200",
		Args:    arguments(2, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			return c.answer(runfolder.Compare(args[0], args[1]))
		},
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
	}
	c.addJSON(compare)
	cmd.AddCommand(compare, newPrune(c))
	return cmd
}

func newPrune(c *console) *cobra.Command {
	var yes bool
	p := runfolder.Prune{Talk: c.err, Show: c.show}
	cmd := &cobra.Command{
		Use:     "prune [FOLDER | RUN...]",
		Short:   "remove old runs",
		Long:    runfolder.AboutPrune,
		Example: runfolder.ExamplePrune,
		Args:    arguments(0, math.MaxInt),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("keep") && p.Keep < 0 {
				return advice.Usagef("runs prune: --keep %d: want 0 or more", p.Keep)
			}
			if p.Now = time.Now(); !yes {
				p.Ask = c.ask
			}
			return c.answer(p.Do(args))
		},
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
	}
	cmd.Flags().IntVar(&p.Keep, "keep", -1, "keep the newest `N` finished runs")
	cmd.Flags().Lookup("keep").DefValue = ""
	cmd.Flags().StringVar(&p.Older, "older-than", "", "remove runs of this `age`, as 30d or 12h")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	c.addJSON(cmd)
	return cmd
}

// ask asks the user a question, whose answer is no unless it begins with y.
func (c *console) ask(question string) (bool, error) {
	if !term.IsTerminal(int(c.in.Fd())) {
		return false, advice.Usage(fmt.Errorf("no answer to %q: standard input is no terminal", question),
			"--yes goes on without a question")
	}
	fmt.Fprintf(c.err, "%s [y/N] ", question)
	answer, err := bufio.NewReader(c.in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return strings.HasPrefix(strings.ToLower(strings.TrimSpace(answer)), "y"), nil
}
