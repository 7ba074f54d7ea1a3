// Package doctor examines this machine for a run, and the ways to the other machines of the run. Each check gives a
// row: a verdict, the findings and the fix.
//
// Checks of this machine look at the system, the run file, keys and data. A meeting with the doctors of the other
// machines (package meeting) tells the rest. The judging functions take the findings as arguments.
package doctor

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"gossiptrainer/app/advice"
	"gossiptrainer/internal/human"
)

// A Report is the output of "peer doctor".
type Report struct {
	Run   string `json:"run,omitempty"`
	Rows  []Row  `json:"rows"`
	Pairs []Pair `json:"pairs,omitempty"`
}

// A brokenError says that checks have the verdict broken.
type brokenError struct{ Checks []string }

func (e *brokenError) Error() string {
	return fmt.Sprintf("doctor: %s %s broken: %s", human.Count(len(e.Checks), "check"),
		human.Verb(len(e.Checks), "is", "are"),
		strings.Join(e.Checks, ", "))
}

// Hint says where the fix is.
func (e *brokenError) Hint() string { return "the fix is below each of them" }

// Examine runs all checks, those that wait side by side. The error is a *brokenError if one is broken.
func Examine(ctx context.Context, r Request) (*Report, error) {
	p := &subject{Request: r}
	report := &Report{Rows: []Row{}}
	groups := []func() []Row{p.program, p.system, p.network}
	if r.Load != nil {
		report.Rows = append(report.Rows, p.open()...)
	}
	if p.loaded != nil {
		report.Run = p.loaded.Config.Name
		report.Rows = append(report.Rows, p.own()...)
	}
	if p.run != nil {
		groups = append(groups, p.store, func() []Row {
			rows, pairs := p.meet(ctx)
			report.Pairs = pairs
			return rows
		})
	}
	found := make([][]Row, len(groups))
	var wg sync.WaitGroup
	for i, group := range groups {
		wg.Go(func() { found[i] = group() })
	}
	wg.Wait()
	report.Rows = merge(append(report.Rows, slices.Concat(found...)...))
	return report, report.err()
}

// order is that of the rows in a report.
var order = []string{"program", "processor", "memory", "files", "clock", "run file", "secret", "key", "data", "disk",
	"output", "addresses", "MTU", "multicast", "port", "peers", "firewall", "packets", "clocks", "versions", "settings",
	"links"}

// merge puts rows in their order, and marks those that need the manual.
func merge(rows []Row) []Row {
	rows = slices.DeleteFunc(rows, func(r Row) bool { return r.Check == "" })
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Compare(slices.Index(order, a.Check), slices.Index(order, b.Check))
	})
	for i := range rows {
		if r := &rows[i]; r.Verdict != OK {
			r.See = advice.Page("doctor.md#") + strings.ToLower(strings.ReplaceAll(r.Check, " ", "-"))
		}
	}
	return rows
}

func (r *Report) err() error {
	var names []string
	for _, row := range r.Rows {
		if row.Verdict == Broken && !slices.Contains(names, row.Check) {
			names = append(names, row.Check)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return &brokenError{names}
}

// Write prints a line per row, and below it the fix.
func (r *Report) Write(w io.Writer) error {
	for _, row := range r.Rows {
		if _, err := fmt.Fprintf(w, "%-6s  %-9s  %s\n", row.Verdict, row.Check, row.Seen); err != nil {
			return err
		}
		if row.Fix != "" {
			fmt.Fprintf(w, "%19sfix: %s\n", "", row.Fix)
		}
		if row.See != "" {
			fmt.Fprintf(w, "%19ssee: %s\n", "", row.See)
		}
	}
	return writePairs(w, r.Pairs)
}
