package study

import (
	"encoding/csv"
	"fmt"
	"io"
	"strings"

	"gossiptrainer/internal/human"
)

// A table is a table of a study, which can be written for LaTeX, as CSV and into the page.
type table struct {
	Name    string // of its file, without extension
	Caption string
	Head    []string
	Rows    [][]string // as long as Head
	Texts   int        // leading columns that hold words; the others hold numbers
}

// writeCSV writes the table as CSV with a line of names.
func (t table) writeCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	_ = out.Write(t.Head) // Flush reports the error
	_ = out.WriteAll(t.Rows)
	out.Flush()
	return out.Error()
}

// writeLaTeX writes the table for \usepackage{booktabs}. Columns of words beyond the first break their lines.
func (t table) writeLaTeX(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%% %s\n", human.LaTeX(t.Caption))
	var lines [][]string
	for _, cells := range append([][]string{t.Head}, t.Rows...) {
		escaped := make([]string, len(cells))
		for i, cell := range cells {
			escaped[i] = human.LaTeX(cell)
		}
		lines = append(lines, escaped)
	}
	tabular(&b, t.columns(), lines)
	_, err := io.WriteString(w, b.String())
	return err
}

// columns returns the alignment of the columns. Long words get a paragraph of a share of the line.
func (t table) columns() []string {
	const long = 40
	var specs []string
	for i := range t.Head {
		widest := 0
		for _, row := range t.Rows {
			widest = max(widest, len(row[i]))
		}
		switch {
		case i >= t.Texts:
			specs = append(specs, "r")
		case widest > long:
			specs = append(specs, fmt.Sprintf("p{%.2f\\linewidth}", paragraph))
		default:
			specs = append(specs, "l")
		}
	}
	return specs
}
