package runfolder

import (
	"fmt"
	"io"
	"strconv"

	"gossiptrainer/internal/human"
)

// A column of the table of runs.
type column struct {
	human.Column
	cell func(r *Run) string
}

var columns = []column{
	{human.Column{Title: "NAME", Left: true}, func(r *Run) string { return r.Name }},
	{human.Column{Title: "BEGAN (UTC)", Left: true, Rank: 6},
		func(r *Run) string { return r.Began.Format("2006-01-02 15:04") }},
	{human.Column{Title: "STATE", Left: true}, func(r *Run) string { return string(r.State) }},
	{human.Column{Title: "ALGORITHM", Left: true, Rank: 4}, func(r *Run) string { return r.Method }},
	{human.Column{Title: "GRAPH", Left: true, Rank: 8}, func(r *Run) string { return r.Graph }},
	{human.Column{Title: "WORKERS", Rank: 9}, func(r *Run) string { return count(r.Workers) }},
	{human.Column{Title: "ROUNDS", Rank: 3}, (*Run).rounds},
	{human.Column{Title: "TRAIN LOSS", Rank: 10}, func(r *Run) string { return human.Number(r.TrainLoss) }},
	{human.Column{Title: "LOSS", Rank: 2}, func(r *Run) string { return human.Number(r.Loss) }},
	{human.Column{Title: "ACCURACY", Rank: 1}, func(r *Run) string { return human.Number(r.Accuracy) }},
	{human.Column{Title: "SENT", Rank: 7}, func(r *Run) string { return human.Size(r.Sent) }},
}

// rounds is finished/all for a run that has not done all.
func (r *Run) rounds() string {
	if r.Of > r.Rounds {
		return fmt.Sprintf("%d/%d", r.Rounds, r.Of)
	}
	return strconv.Itoa(r.Rounds)
}

func count(n int) string {
	if n == 0 {
		return "-"
	}
	return strconv.Itoa(n)
}

// Write prints the list as a table of at most width columns; 0: no bound, as in a pipe. A name is never cut.
func (l *List) Write(w io.Writer, width int) error {
	if len(l.Runs) == 0 {
		_, err := fmt.Fprintf(w, "no runs in %s\n", l.Folder)
		return err
	}
	var t human.Table
	t.Rows = make([][]string, len(l.Runs))
	for _, c := range columns {
		t.Columns = append(t.Columns, c.Column)
		for i := range l.Runs {
			t.Rows[i] = append(t.Rows[i], c.cell(&l.Runs[i]))
		}
	}
	if err := t.Text(w, width); err != nil {
		return err
	}
	for i := range l.Runs {
		if r := &l.Runs[i]; r.Error != "" {
			if _, err := fmt.Fprintf(w, "%s: %s\n", r.Name, r.Error); err != nil {
				return err
			}
		}
	}
	return nil
}
