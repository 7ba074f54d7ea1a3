package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"gossiptrainer/configs"
	"gossiptrainer/internal/app/advice"
	"gossiptrainer/internal/app/compare"
	"gossiptrainer/internal/app/runfolder"
	"gossiptrainer/internal/atomicfile"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/report"
)

func newReport(c *console) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "report [DIR...]",
		Short: "sum up and draw a run from its folder, or compare runs",
		Long: `sum up and draw a run from its folder, or compare runs

DIR is the folder that run, lab or sim has left, also of a run that goes on; without one it
is the newest in output.dir. Two or more are compared by their losses. The figure then shows
accuracy and loss on the test set, of the average model where "peer sim" has evaluated it,
else the mean over the replicas; without output.evaluate it shows the training losses.

The folder of "peer compare" gets a report: a page with tables and figures, figures as
png, svg and pdf (7 inches wide, for a column of 3.3 inches in figures/column), tables
for LaTeX, and all curves as CSV. Times to a target are interpolated between records;
their 95 % intervals hold at least what lies between these. A target of accuracy needs
output.evaluate. Of two such folders, as of the same cells by sim and by lab, it says
how well they agree.`,
		Example: `  peer report
  peer report runs/ring8-20261121-100500 -o loss.png
  peer report runs/ring8-* -o accuracy.png
  peer report fig1
  peer report by-sim by-lab`,
		Args: arguments(0, math.MaxInt),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				newest, err := c.newestRun()
				if err != nil {
					return err
				}
				args = []string{newest}
			}
			if len(args) == 1 && isComparison(args[0]) {
				if file != "" {
					return advice.Usagef("report: -o %s: the report of a comparison goes into its folder", file)
				}
				return c.reportStudy(args[0])
			}
			if len(args) == 2 && isComparison(args[0]) && isComparison(args[1]) {
				return c.reportAgreement(args[0], args[1])
			}
			runs, err := runfolder.OpenRecords(args)
			if err != nil {
				return err
			}
			if file != "" {
				if err := c.draw(runs, file); err != nil {
					return err
				}
			}
			return c.sumUp(runs)
		},
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "draw into `file`.png, .svg or .pdf")
	c.addJSON(cmd)
	return cmd
}

// newestRun returns the folder of the newest run in output.dir, and prints it.
func (c *console) newestRun() (string, error) {
	loaded, err := configs.Load(configs.Source{Env: os.Environ()})
	if err != nil {
		return "", err
	}
	newest, of, err := runfolder.Newest(loaded.Config.Output.Dir)
	if err != nil {
		return "", err
	}
	c.say("report of %s, the newest of %d in %s", newest, of, loaded.Config.Output.Dir)
	return newest, nil
}

// sumUp prints the summary of a run, or a table of several.
func (c *console) sumUp(runs []*record.Run) error {
	var finished []*record.Summary
	for _, run := range runs {
		if run.Summary == nil {
			c.say("%s: no summary: the run is still running or was stopped", run.Dir)
			continue
		}
		finished = append(finished, run.Summary)
	}
	switch {
	case len(runs) > 1:
		return c.print(finished, func(w io.Writer) error {
			if len(finished) > 0 {
				if err := report.WriteRuns(w, finished); err != nil {
					return err
				}
				fmt.Fprintln(w)
			}
			return report.WriteLosses(w, runs)
		})
	case len(finished) == 1:
		return c.print(finished[0], func(w io.Writer) error { return report.WriteSummary(w, finished[0]) })
	}
	return nil
}

// draw writes the figure of a run, or of a comparison of several. A figure that fails replaces no file.
func (c *console) draw(runs []*record.Run, file string) error {
	var figure bytes.Buffer
	var err error
	unscored := slices.IndexFunc(runs, func(r *record.Run) bool { return !r.Scored() })
	switch {
	case len(runs) == 1:
		err = report.WriteFigure(&figure, runs[0], report.Format(file))
	case unscored >= 0:
		c.say("%s was not evaluated during training: the figure shows training losses; set output.evaluate for losses on "+
			"the test set", runs[unscored].Dir)
		err = report.WriteLossFigure(&figure, runs, report.Format(file))
	default:
		err = report.WriteComparison(&figure, runs, report.Format(file))
	}
	if err != nil {
		return advice.Usage(err, "-o loss.png, -o loss.svg or -o loss.pdf")
	}
	return c.saveFigure(file, figure.Bytes())
}

// saveFigure writes a figure completely or not at all.
func (c *console) saveFigure(file string, figure []byte) error {
	if err := atomicfile.Write(file, figure, runfolder.Readable); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	c.say("drew %s, %s", file, report.Size(int64(len(figure))))
	return nil
}

// isComparison reports whether a folder was left by peer compare.
func isComparison(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, report.ComparisonFile))
	return err == nil
}

// reportStudy writes the report of a comparison and prints its table.
func (c *console) reportStudy(dir string) error {
	study, page, err := compare.WriteReport(dir)
	if err != nil {
		return err
	}
	for _, line := range study.Conclusions() {
		c.say("%s", line)
	}
	for _, line := range study.Caveats() {
		c.say("note: %s", line)
	}
	c.say("report: %s", page)
	return c.print(study.Comparison, func(w io.Writer) error {
		if err := report.WriteCells(w, study.Comparison); err != nil {
			return err
		}
		return study.WriteTargets(w)
	})
}

// reportAgreement prints how well two comparisons agree.
func (c *console) reportAgreement(first, second string) error {
	a, err := report.ReadComparison(first)
	if err != nil {
		return err
	}
	b, err := report.ReadComparison(second)
	if err != nil {
		return err
	}
	return c.print(report.Agree(a, b), func(w io.Writer) error { return report.WriteAgreement(w, a, b) })
}
