package plan

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"gossiptrainer/internal/human"
)

// arrange puts rows in their order: the frontier by time, then other rows with a time, then estimates, then the rest.
func arrange(rows []Row) []Row {
	class := func(r Row) int {
		switch {
		case r.Frontier:
			return 0
		case r.Time != nil && r.Outcome != outcomeEstimated:
			return 1
		case r.Time != nil:
			return 2
		}
		return 3
	}
	slices.SortStableFunc(rows, func(a, b Row) int {
		if d := cmp.Compare(class(a), class(b)); d != 0 || a.Time == nil {
			return d
		}
		return cmp.Or(cmp.Compare(a.Time.Value, b.Time.Value), cmp.Compare(a.Sent.Value, b.Sent.Value))
	})
	return rows
}

// Write prints the frontier, the run file as it is, and what came of the others.
func (p *Plan) Write(w io.Writer) error {
	fmt.Fprintf(w, "%s: %s on %s\n", p.Run, human.Count(p.Workers, "worker"), p.where())
	fmt.Fprintf(w, "links: %s\n", p.Links)
	fmt.Fprintf(w, "target: %s %g, %s\n\n", p.Target.Metric, p.Target.Value, p.Target.Why)
	if err := p.table().Text(w, 0); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%s\n%s\n", p.legend(), p.counts())
	if len(p.Rehearsal.Parts) > 0 {
		fmt.Fprintf(w, "work takes %.2f times as long among all peers of this machine as alone\n", p.Rehearsal.Processor)
	}
	if err := p.writeProofs(w); err != nil {
		return err
	}
	return p.writeChanges(w)
}

// shown is how many candidates the table has beside the frontier and the run file as it is.
const shown = 5

// table has the frontier, the run file as it is, and a few others.
func (p *Plan) table() human.Table {
	t, others := human.Table{Columns: []human.Column{{Left: true}, {Title: "ALGORITHM", Left: true, Close: true},
		{Title: "GRAPH", Left: true, Close: true}, {Title: "H", Close: true}, {Title: "A ROUND"}, {Title: "TO TARGET"},
		{Left: true, Close: true}, {Title: "SENT", Close: true}}}, 0
	for i, r := range p.Rows {
		if !r.Frontier && !r.File {
			if others++; others > shown || r.Time == nil {
				continue
			}
		}
		t.Rows = append(t.Rows, r.cells(i == 0 && r.Time != nil))
	}
	return t
}

// writeChanges prints what the best candidate changes in the run file, and what its peers take of their disks.
func (p *Plan) writeChanges(w io.Writer) error {
	if !p.reaches() {
		return nil
	}
	if p.Rows[0].File {
		fmt.Fprintln(w, "the run file is the best as it is")
	} else {
		fmt.Fprintf(w, "the best changes the run file (-o FILE writes it whole):\n  %s\n",
			strings.ReplaceAll(strings.Join(p.Rows[0].Set, "\n  "), "=", ": "))
	}
	return p.Best.Disk.WriteDisk(w)
}

// where says which machines are predicted.
func (p *Plan) where() string {
	if p.Machines == 1 {
		return fmt.Sprintf("this machine (%s for all)", human.Count(p.Cores, "core"))
	}
	return fmt.Sprintf("%d machines like this one", p.Machines)
}

func (p *Plan) legend() string {
	text := "* best, + no other candidate is quicker and sends less"
	if slices.ContainsFunc(p.Rows, func(r Row) bool { return r.File }) {
		text += ", = the run file as it is"
	}
	return text
}

// counts says what came of the candidates.
func (p *Plan) counts() string {
	c := p.Counts
	var parts []string
	for _, part := range []struct {
		n    int
		what string
	}{{c.Reached, "simulated to the target"}, {c.Foreseen, "foreseen"}, {c.Missed, "too slow"},
		{c.Diverged, "diverged"}, {c.Estimated, "only estimated by bytes and links"}, {c.Untried, "not tried"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	if n := len(p.Refused); n > 0 {
		parts = append(parts, fmt.Sprintf("%d refused", n))
	}
	return fmt.Sprintf("%s (--json has all):\n  %s", human.Count(c.All, "candidate"), strings.Join(parts, ", "))
}

// cells are those of one line.
func (r *Row) cells(best bool) []string {
	mark := ""
	switch {
	case best:
		mark = "*"
	case r.Frontier:
		mark = "+"
	}
	if r.File {
		mark += "="
	}
	line := []string{mark, r.Method, r.Graph, fmt.Sprint(r.Steps), seconds(r.Round.Value)}
	if r.Time == nil {
		return append(line, string(r.Outcome), "", "")
	}
	return append(line, seconds(r.Time.Value), fmt.Sprintf("±%.0f%%", 100*r.Time.spread()),
		human.Size(int64(r.Sent.Value)))
}

// seconds writes a time with three digits.
func seconds(s float64) string {
	switch {
	case s == 0:
		return "-"
	case s < 120:
		return human.Seconds(s)
	}
	return human.Clock(time.Duration(s * float64(time.Second)))
}

// writeProofs prints predictions beside what real peers did.
func (p *Plan) writeProofs(w io.Writer) error {
	if len(p.Proofs) == 0 {
		return nil
	}
	fmt.Fprintln(w, "\nreal peers of this machine:")
	for _, r := range p.Proofs {
		fmt.Fprintf(w, "%s:\n  %d rounds of %s, predicted %s (%s)\n", r.Candidate, r.Rounds, seconds(r.Measured),
			seconds(r.Predicted.Value), percent(off(r.Predicted.Value, r.Measured)))
		if r.Time == nil {
			fmt.Fprintln(w, "  not at the target when the time was up")
			continue
		}
		fmt.Fprintf(w, "  to the target %s, predicted %s (%s)\n", seconds(r.Time.Measured), seconds(r.Time.Predicted.Value),
			percent(off(r.Time.Predicted.Value, r.Time.Measured)))
	}
	_, err := fmt.Fprintln(w)
	return err
}

func percent(v float64) string { return fmt.Sprintf("%+.0f%%", 100*v) }

// WriteBest writes the run file of the best candidate.
func (p *Plan) WriteBest(file string) error {
	text := fmt.Appendf(nil, "# %s, as peer plan proposes it: %s.\n", p.Run, p.Rows[0].Candidate)
	if err := os.WriteFile(file, append(text, p.Best.RunFile...), 0o666); err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	return nil
}
