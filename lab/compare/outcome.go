package compare

import (
	"errors"
	"fmt"
	"path/filepath"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/runfolder"
	"gossiptrainer/internal/cells"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/safefile"
)

// SayStopped tells the user of a stopped comparison which results exist and that the same command line continues.
func (m *Matrix) SayStopped(again string) {
	done := 0
	for _, cell := range m.result.Cells {
		if cell.Status != "" && cell.Status != cells.Failed {
			done++
		}
	}
	m.say("%s %s finished, in %s; the others are run when the same command is started again",
		human.Part(done, len(m.cells), "cell"), human.Verb(done, "is", "are"), m.Dir)
	advice.Next(m.Talk, again, "go on")
	if done > 0 {
		advice.Next(m.Talk, advice.Command("peer", "report", m.Dir), "report on the finished cells")
	}
}

// A CellsError says that some cells of a comparison failed. The results of the other cells remain.
type CellsError struct {
	failed, all int
	first       cells.Cell
	dir         string
}

func (e *CellsError) Error() string {
	return fmt.Sprintf("compare: %s failed; the first: %s on %s, seed %d: %s",
		human.Part(e.failed, e.all, "cell"), e.first.Label, e.first.Network, e.first.Seed, e.first.Error)
}

// Hint says where to read what went wrong.
func (e *CellsError) Hint() string {
	return "what each said is in " + filepath.Join(e.dir, cells.CellsFolder, "*", cellLog) +
		"; start again to try them again"
}

// Failed returns a *cellsError if some cells have failed.
func (m *Matrix) Failed() error {
	var e *CellsError
	for _, cell := range m.result.Cells {
		if cell.Status != cells.Failed {
			continue
		}
		if e == nil {
			e = &CellsError{all: len(m.result.Cells), first: cell, dir: m.Dir}
		}
		e.failed++
	}
	if e != nil {
		return e
	}
	return nil
}

// lock keeps other processes from writing results into dir until unlock is
// called or this process ends.
func lock(dir string) (unlock func(), err error) {
	lock, err := safefile.Acquire(filepath.Join(dir, "lock"), runfolder.Readable)
	if _, held := errors.AsType[*safefile.HeldError](err); held {
		return nil, advice.Usage(
			fmt.Errorf("compare: another peer compare is writing into %s", dir),
			"wait until it ends, or choose another folder with -o",
		)
	}
	if err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	return func() { _ = lock.Release() }, nil
}
