package compare

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gossiptrainer/internal/plural"
	"gossiptrainer/internal/report"
)

// Run runs the cells that are not finished. It goes on after a cell that fails.
func (m *Matrix) Run(ctx context.Context) error {
	if err := m.prepare(ctx); err != nil {
		return err
	}
	return m.runCells(ctx)
}

// runCells runs the cells that are not finished yet.
func (m *Matrix) runCells(ctx context.Context) error {
	var todo []int
	m.result.Cells = make([]report.Cell, len(m.cells))
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
		m.say("%s %s finished", plural.Part(skipped, len(m.cells), "cell"), plural.Verb(skipped, "is", "are"))
	}
	groups, err := m.groups(todo)
	if err != nil {
		return err
	}
	m.pace.rest = m.pick(slices.Concat(groups...))
	for _, group := range groups {
		first := m.cells[group[0]]
		m.pace.begin(m.pick(group), time.Now())
		m.say("cell %d of %d: %s%s%s", group[0]+1, len(m.cells), first, others(len(group)-1), m.pace.words(time.Now()))
		done, err := m.runTogether(ctx, m.file.Mode, m.pick(group))
		if err != nil {
			return err
		}
		m.pace.end(time.Now())
		for i, at := range group {
			m.result.Cells[at] = done[i]
		}
		m.result.Made = time.Now().UTC().Format(time.RFC3339)
		if err := m.Save(); err != nil {
			return err
		}
		if done[0].Status != report.CellDone {
			m.say("  %s: %s", done[0].Status, done[0].Error)
		}
	}
	return nil
}

func others(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", with %d other networks", n)
}
