package main

import (
	"io"
	"math"

	"github.com/spf13/cobra"

	"gossiptrainer/app/export"
	"gossiptrainer/app/screen"
	"gossiptrainer/lab/reports"
)

func newReport(c *console) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:     "report [DIR...]",
		Short:   "sum up and draw a run from its folder, or compare runs",
		Long:    reports.About,
		Example: reports.Example,
		Args:    arguments(0, math.MaxInt),
		RunE:    func(_ *cobra.Command, dirs []string) error { return c.report(dirs, file) },
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "draw into `file`.png, .svg or .pdf")
	c.addJSON(cmd)
	return cmd
}

// report prints the report of some folders, and draws it into a file if that has a name.
func (c *console) report(dirs []string, file string) error {
	answer, err := during(c, "reading records", func(*screen.Task) (reports.Answer, error) {
		return reports.Maker{Talk: c.talk(), File: file}.Make(dirs)
	})
	if err != nil || answer.Result == nil {
		return err
	}
	return c.print(answer.Result, func(w io.Writer) error { return answer.Write(w, c.out.Width()) })
}

func newExport(c *console) *cobra.Command {
	var to, output string
	cmd := &cobra.Command{
		Use:     "export FOLDER --to FORM",
		Short:   "write the curves of a run for TensorBoard, CSV, JSON lines or W&B",
		Long:    export.About,
		Example: export.Example,
		Args:    arguments(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			result, err := during(c, "exporting", func(t *screen.Task) (*export.Result, error) {
				return export.Export(args[0], to, output, t.Reach)
			})
			if err := c.answer(result, err); err != nil {
				return err
			}
			if result.Next() != "" {
				c.next(result.Next(), "look at it")
			}
			return nil
		},
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
	}
	cmd.Flags().StringVar(&to, "to", "", "the `form`: tensorboard, csv, jsonl or wandb")
	cmd.Flags().StringVarP(&output, "output", "o", "", "where to write (default: in FOLDER)")
	_ = cmd.RegisterFlagCompletionFunc("to", cobra.FixedCompletions(export.Targets(), cobra.ShellCompDirectiveNoFileComp))
	c.addJSON(cmd)
	return cmd
}
