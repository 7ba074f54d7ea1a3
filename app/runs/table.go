package runs

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gossiptrainer/internal/human"
)

// A column of the table of runs.
type column struct {
	title string
	left  bool // aligned
	rank  int  // those with the highest are left out first; 0: never
	cell  func(r *Run) string
}

var columns = []column{
	{"NAME", true, 0, func(r *Run) string { return r.Name }},
	{"BEGAN (UTC)", true, 6, func(r *Run) string { return r.Began.Format("2006-01-02 15:04") }},
	{"STATE", true, 0, func(r *Run) string { return string(r.State) }},
	{"ALGORITHM", true, 4, func(r *Run) string { return r.Method }},
	{"GRAPH", true, 8, func(r *Run) string { return r.Graph }},
	{"WORKERS", false, 9, func(r *Run) string { return count(r.Workers) }},
	{"ROUNDS", false, 3, (*Run).rounds},
	{"TRAIN LOSS", false, 10, func(r *Run) string { return human.Number(r.TrainLoss) }},
	{"LOSS", false, 2, func(r *Run) string { return human.Number(r.Loss) }},
	{"ACCURACY", false, 1, func(r *Run) string { return human.Number(r.Accuracy) }},
	{"SENT", false, 7, func(r *Run) string { return human.Size(r.Sent) }},
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

// gutter is the space between columns.
const gutter = 2

// Write prints the list as a table of at most width columns; 0: no bound, as in a pipe. A name is never cut.
func (l *List) Write(w io.Writer, width int) error {
	if len(l.Runs) == 0 {
		_, err := fmt.Fprintf(w, "no runs in %s\n", l.Folder)
		return err
	}
	shown := slices.Clone(columns)
	cells, widths := l.cells(shown)
	for width > 0 && sum(widths) > width {
		least := 0
		for i, c := range shown {
			if c.rank > shown[least].rank {
				least = i
			}
		}
		if shown[least].rank == 0 {
			break
		}
		shown = slices.Delete(shown, least, least+1)
		cells, widths = l.cells(shown)
	}
	if err := writeTable(w, shown, cells, widths); err != nil {
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

// sum returns the columns of a line.
func sum(widths []int) int {
	all := gutter * (len(widths) - 1)
	for _, n := range widths {
		all += n
	}
	return all
}

// cells returns the lines of a table with its head, and the widths of its columns.
func (l *List) cells(shown []column) (lines [][]string, widths []int) {
	lines, widths = make([][]string, len(l.Runs)+1), make([]int, len(shown))
	for i, c := range shown {
		lines[0] = append(lines[0], c.title)
		for k := range l.Runs {
			lines[k+1] = append(lines[k+1], c.cell(&l.Runs[k]))
		}
		for _, line := range lines {
			widths[i] = max(widths[i], utf8.RuneCountInString(line[i]))
		}
	}
	return lines, widths
}

func writeTable(w io.Writer, shown []column, lines [][]string, widths []int) error {
	var text strings.Builder
	for _, line := range lines {
		var one strings.Builder
		for i, cell := range line {
			space := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i > 0 {
				one.WriteString(strings.Repeat(" ", gutter))
			}
			if shown[i].left {
				one.WriteString(cell + space)
			} else {
				one.WriteString(space + cell)
			}
		}
		text.WriteString(strings.TrimRight(one.String(), " ") + "\n")
	}
	_, err := io.WriteString(w, text.String())
	return err
}
