package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/screen"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/kernel"
)

// lastLine is how long a command that gives up waits for the reader of its last line.
const lastLine = 200 * time.Millisecond

// run executes a command line and returns the exit code.
func run(args []string, c *console) int {
	ctx, cancel := screen.SignalContext(context.Background(), c.resort, func(err error) {
		time.AfterFunc(lastLine, func() { os.Exit(exitCode(err)) })
		c.breakOff(err)
		os.Exit(exitCode(err))
	})
	defer cancel()
	c.job.Watch(ctx)
	root := newRoot(c)
	root.SetArgs(args)
	root.SetOut(c.out)
	root.SetErr(c.err)
	err := kernel.Check()
	if err == nil {
		err = root.ExecuteContext(ctx)
		c.endDash()
	}
	if err != nil && !advice.Is[*reportedError](err) {
		c.complain(err)
	}
	return exitCode(err)
}

// doors are what the program offers when it is called without a command.
var doors = [][]any{
	{"try it", "peer lab", "eight peers train here, in seconds"},
	{"your script", "peer lab -- python3 train.py", "four copies of it train one model"},
	{"your LAN", "peer init", "six questions and a token"},
	{"a paper", "peer reproduce moniqua", "its claims, run again and judged"},
}

// greet writes the doors. On a narrow terminal what a command does stands below it.
func greet(w io.Writer, width int) error {
	const wide = 80
	row := "  %-11s  %-28s  %s\n"
	if width > 0 && width < wide {
		row = "  %-11s  %s\n               %s\n"
	}
	out := human.Folded(w, width)
	fmt.Fprint(out, "Many machines train one model without a server, by averaging with neighbours.\n\n")
	for _, door := range doors {
		fmt.Fprintf(out, row, door...)
	}
	_, err := fmt.Fprint(out, "\npeer --help lists all commands, and peer COMMAND --help explains one.\n")
	return err
}

func newRoot(c *console) *cobra.Command {
	root := parent(&cobra.Command{
		Use:   "peer",
		Short: "train models by gossip between peers",
		Long:  "peer trains one model on many machines without a server: every peer averages with its neighbours.",
		Example: `  peer lab                      eight peers on this machine learn built-in data
  peer lab ring8-fashion        the same on Fashion-MNIST
  peer sim ring8 --json         the same run in one process, on a virtual clock
  peer init                     begin a run on a LAN, and print the join command for the others`,
		SilenceErrors: true,
		SilenceUsage:  true,
	})
	others := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return others(cmd, args)
		}
		return greet(c.out, c.out.Width())
	}
	root.CompletionOptions.DisableDefaultCmd = true // we have our own
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	root.SetFlagErrorFunc(flagError)
	root.PersistentFlags().SortFlags = false
	root.PersistentFlags().BoolVarP(&c.quiet, "quiet", "q", false, "print only errors and results")
	root.PersistentFlags().CountVarP(&c.verbose, "verbose", "v", "print the logs of the peers; twice for more")
	root.AddGroup(&cobra.Group{ID: "train", Title: "Train:"}, &cobra.Group{ID: "look", Title: "Look and prepare:"})
	for _, cmd := range []*cobra.Command{newLab(c), newRun(c), newInit(c), newInvite(c), newJoin(c), newStop(c), newSim(c),
		newCompare(c), newReproduce(c)} {
		cmd.GroupID = "train"
		root.AddCommand(cmd)
	}
	for _, cmd := range []*cobra.Command{newStatus(c), newDash(c), newPlan(c), newDoctor(c), newRuns(c), newReport(c),
		newExport(c), newEvaluate(c), newPredict(c), newAverage(c), newConfig(c), newData(c), newTopology(c), newQuant(c),
		newPython(c), newBench(c), newID(c), newVersion(c), newCompletion(c)} {
		cmd.GroupID = "look"
		root.AddCommand(cmd)
	}
	root.SetHelpCommandGroupID("look")
	root.SetHelpCommand(newHelp())
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { writeHelp(cmd.OutOrStdout(), cmd) })
	addVersion(root)
	readDecimals(root)
	return root
}

// readDecimals makes the flags of a command and of those below it take whole numbers in decimal notation only: pflag
// reads 010 as 8.
func readDecimals(cmd *cobra.Command) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if kind := f.Value.Type(); kind == "int" || kind == "uint" {
			f.Value = decimal{f.Value}
		}
	})
	for _, child := range cmd.Commands() {
		readDecimals(child)
	}
}

// A decimal is a flag for a whole number.
type decimal struct{ pflag.Value }

func (d decimal) Set(text string) error {
	if n, err := strconv.ParseInt(text, 10, 64); err != nil || strconv.FormatInt(n, 10) != text {
		return errors.New("want a whole number in decimal notation, like 10")
	}
	return d.Value.Set(text)
}

// flagError adds to the error of a wrong flag the flag that may have been meant.
func flagError(cmd *cobra.Command, err error) error {
	hint := "see " + cmd.CommandPath() + " --help"
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if cmd.HasParent() { // every error names the program
		err = fmt.Errorf("%s: %w", words(cmd), err)
	}
	if !ok {
		return advice.Usage(err, hint)
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if near := advice.Nearest(strings.TrimLeft(unknown.GetSpecifiedName(), "-"), names); near != "" {
		hint = "did you mean --" + near + "?"
	}
	return advice.Usage(err, hint)
}
