package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"gossiptrainer/configs"
	"gossiptrainer/internal/app/advice"
	"gossiptrainer/internal/report"
)

// compareFlags are the flags of peer compare.
type compareFlags struct {
	dir  string
	mode string
	only []string
	set  []string
}

func newCompare(c *console) *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "compare FILE",
		Short: "run algorithms against each other on several networks",
		Long: `run algorithms against each other on several networks

FILE is a comparison file or the name of an embedded one. It names a run file to start
from, networks, algorithms and seeds; every combination is a cell and is run by lab or
sim. Started again with the same folder, it goes on: cells that are finished and whose
settings have not changed are not run again. A cell that diverges is a result; if a cell
fails, the others are run nevertheless and the command exits with ` + fmt.Sprint(exitCells) + `.

The folder gets a report, as "peer report" makes it, and in its folder what makes the
comparison again with the same digests: comparison.yaml, the run files of all cells, and
in REPRODUCE.md the version, the machine and the sums of the data files. Folders, keys
and secrets of this machine are left out. Real peers (lab) that end at a time or a target
end in other rounds, and those of ` + asynchronous() + ` meet in another order: their digests differ.`,
		Example: `  peer compare moniqua-fig1 -o fig1
  peer compare my-comparison.yaml -o results --mode lab
  peer compare moniqua-fig1 -o quick --only D-PSGD --only 'Moniqua 8b' --set train.rounds=50
  peer compare fig1/report/comparison.yaml -o again`,
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return runCompare(cmd.Context(), c, args[0], f) },
	}
	cmd.Flags().StringVarP(&f.dir, "output", "o", "", "`folder` of the results (default: the comparison's name)")
	cmd.Flags().StringVar(&f.mode, "mode", "", "run the cells by `lab|sim` instead of what the file says")
	cmd.Flags().StringArrayVar(&f.only, "only", nil, "run the cells of this `label` alone; may be repeated")
	cmd.Flags().StringArrayVar(&f.set, "set", nil, "override a key in every cell, as in `key=value`; may be repeated")
	_ = cmd.RegisterFlagCompletionFunc("set", completeKeys)
	_ = cmd.RegisterFlagCompletionFunc("only", completeLabels)
	_ = cmd.RegisterFlagCompletionFunc("mode", cobra.FixedCompletions([]string{"lab", "sim"}, cobra.ShellCompDirectiveNoFileComp))
	c.addJSON(cmd)
	cmd.ValidArgsFunction = completeNames(configs.Comparisons())
	return cmd
}

func runCompare(ctx context.Context, c *console, name string, f compareFlags) error {
	file, err := configs.LoadComparison(name, os.Environ())
	if err != nil {
		return err
	}
	m, err := newMatrix(c, file, f)
	if err != nil {
		return err
	}
	unlock, err := lockFolder(m.dir)
	if err != nil {
		return err
	}
	defer unlock()
	c.loses(func() string { return "the cells at work are lost; the same command goes on with the others" })
	err = m.prepare(ctx)
	if err == nil {
		err = m.runCells(ctx)
	}
	if err != nil {
		if ctx.Err() != nil {
			m.sayStopped()
		}
		return stopped(ctx, err)
	}
	return m.conclude()
}

// sayStopped tells the user of a comparison that was stopped what there is and how it goes on.
func (m *matrix) sayStopped() {
	if err := m.write(); err != nil { // which names the cells, also before the first has ended
		m.c.complain(err)
	}
	done := 0
	for _, cell := range m.result.Cells {
		if cell.Status != "" && cell.Status != report.CellFailed {
			done++
		}
	}
	m.c.say("%d of %d cells are finished, in %s; the others are run when the same command is started again", done, len(m.cells), m.dir)
	m.c.next(advice.Command(append([]string{"peer"}, os.Args[1:]...)...), "go on")
	if done > 0 {
		m.c.next(advice.Command("peer", "report", m.dir), "report on what is finished")
	}
}

// A cellsError says that some cells of a comparison failed, which the results
// of the others survive.
type cellsError struct {
	failed, all int
	first       report.Cell
	dir         string
}

func (e *cellsError) Error() string {
	return fmt.Sprintf("compare: %d of %d cells failed; the first: %s on %s, seed %d: %s",
		e.failed, e.all, e.first.Label, e.first.Network, e.first.Seed, e.first.Error)
}

func (e *cellsError) Hint() string {
	return "what each said is in " + filepath.Join(e.dir, report.CellsFolder, "*", cellLog) + "; start again to try them again"
}

// conclude writes the comparison and prints it.
func (m *matrix) conclude() error {
	if err := m.write(); err != nil {
		return err
	}
	if err := m.c.reportStudy(m.dir); err != nil {
		return err
	}
	var e *cellsError
	for _, cell := range m.result.Cells {
		if cell.Status != report.CellFailed {
			continue
		}
		if e == nil {
			e = &cellsError{all: len(m.result.Cells), first: cell, dir: m.dir}
		}
		e.failed++
	}
	if e != nil {
		return e
	}
	return nil
}
