package compare

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"gossiptrainer/app/advice"
	"gossiptrainer/internal/cells"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/machine"
)

// Run runs the cells that are not finished. It goes on after a cell that fails.
func (m *Matrix) Run(ctx context.Context) error {
	if err := m.prepare(ctx); err != nil {
		return err
	}
	return m.runCells(ctx)
}

// Do runs the cells that are not finished, and keeps the results. No other process may write into the folder meanwhile.
// After a stop it says that the command line again goes on.
func (m *Matrix) Do(ctx context.Context, again string) error {
	unlock, err := lock(m.Dir)
	if err != nil {
		return err
	}
	defer unlock()
	err = m.Run(ctx)
	if machine.IsFull(err) {
		err = m.noRoom(err)
	}
	if err != nil {
		if ctx.Err() != nil {
			if m.before.Name == "" { // nothing names the cells before the first start has prepared them
				if err := m.Save(); err != nil {
					m.say("%s", advice.Warning(err.Error()))
				}
			}
			m.SayStopped(again)
		}
		return err
	}
	return m.Save()
}

// runCells runs the cells that are not finished yet.
func (m *Matrix) runCells(ctx context.Context) error {
	var todo []int
	m.result.Cells = make([]cells.Cell, len(m.cells))
	for i, cell := range m.cells {
		done, err := m.finished(m.file.Mode, cell)
		if err != nil {
			return err
		}
		if done == nil {
			todo = append(todo, i)
			continue
		}
		m.result.Cells[i] = *done
	}
	if skipped := len(m.cells) - len(todo); skipped > 0 {
		m.say("%s %s finished", human.Part(skipped, len(m.cells), "cell"), human.Verb(skipped, "is", "are"))
	}
	m.sayOthers()
	groups, err := m.groups(todo)
	if err == nil {
		err = m.Save() // a page shows the cells from the beginning
	}
	if err != nil {
		return err
	}
	m.pace.rest, m.pace.jobs = pick(m.cells, slices.Concat(groups...)), m.Jobs
	m.shown = m.Progress()
	return sideBySide(ctx, m.Jobs, len(groups), func(i int) func(context.Context) error {
		run := m.start(groups[i])
		return func(ctx context.Context) error { return m.runGroup(ctx, groups[i], run) }
	})
}

// sideBySide runs pieces of work, at most jobs at a time. It begins them in their order; begin returns the work that
// follows in a goroutine. The first error ends all.
func sideBySide(ctx context.Context, jobs, pieces int, begin func(i int) func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	turns := make(chan struct{}, jobs)
	var all sync.WaitGroup
	for i := range pieces {
		turns <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		rest := begin(i)
		all.Go(func() {
			defer func() { <-turns }()
			if err := rest(ctx); err != nil {
				cancel(err)
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// start says that a group of cells starts.
func (m *Matrix) start(group []int) *running {
	first := m.cells[group[0]]
	run := m.pace.begin(fmt.Sprintf("%s %d", first.Label, first.Seed), pick(m.cells, group), time.Now())
	m.talk(func() {
		m.say("cell %d of %d: %s%s%s", group[0]+1, len(m.cells), first, others(len(group)-1),
			m.pace.words(time.Now()))
	})
	return run
}

// runGroup runs a group of cells in one process and keeps its results.
func (m *Matrix) runGroup(ctx context.Context, group []int, run *running) error {
	done, err := m.runTogether(ctx, m.file.Mode, pick(m.cells, group), run)
	m.pace.end(run, time.Now())
	if err != nil {
		return err
	}
	m.talk(func() {
		for i, at := range group {
			m.result.Cells[at] = done[i]
		}
		m.result.Made = time.Now().UTC().Format(time.RFC3339)
		if err = m.Save(); err == nil && done[0].Status != cells.Done {
			m.say("  %s: %s: %s", run.cells[0], done[0].Status, done[0].Error)
		}
	})
	return err
}

func others(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", with %d other networks", n)
}
