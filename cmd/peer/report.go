package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"gossiptrainer/report"
)

func newReport(c *console) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "report DIR",
		Short: "sum up and draw a run from its folder",
		Long: `sum up and draw a run from its folder

DIR is the folder that run, lab or sim has left, also of a run that goes on.`,
		Example: `  peer report runs/ring8-20261121-100500
  peer report runs/ring8-20261121-100500 -o loss.png`,
		Args: arguments(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			run, err := report.Open(args[0])
			if errors.Is(err, fs.ErrNotExist) {
				return &usageError{err: err, hint: "peer lab prints the folder of its run"}
			}
			if err != nil {
				return err
			}
			if file != "" {
				if err := c.draw(run, file); err != nil {
					return err
				}
			}
			if run.Summary == nil {
				c.say("%s: no summary: the run goes on or was stopped", args[0])
				return nil
			}
			return c.print(run.Summary, run.Summary.WriteTable)
		},
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "draw loss and differences between neighbours into `file`.png, .svg or .pdf")
	c.addJSON(cmd)
	return cmd
}

// draw writes the figure of a run; a figure that cannot be drawn replaces
// nothing.
func (c *console) draw(run *report.Run, file string) error {
	var figure bytes.Buffer
	if err := report.WriteFigure(&figure, run, report.Format(file)); err != nil {
		return &usageError{err: err, hint: "-o loss.png, -o loss.svg or -o loss.pdf"}
	}
	const readable fs.FileMode = 0o644
	if err := renameio.WriteFile(file, figure.Bytes(), readable); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	if info, err := os.Stat(file); err == nil {
		c.say("drew %s, %s", file, report.Size(info.Size()))
	}
	return nil
}
