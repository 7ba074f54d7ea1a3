package human

import (
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Table is rows of cells below the titles of their columns.
type Table struct {
	Columns []Column
	Rows    [][]string // each has a cell for every column
}

// A Column is one of a Table.
type Column struct {
	Title string
	Left  bool // its cells begin at the left
	Close bool // one space before it, not two
	Rank  int  // on a narrow terminal those of the highest rank are left out first; 0: never
}

// Text writes the table in lines of at most width characters, without the columns for which there is no room. A width
// of 0 is no bound.
func (t Table) Text(w io.Writer, width int) error {
	var shown, widths []int // places of the columns, and the widths of all
	for i, c := range t.Columns {
		shown, widths = append(shown, i), append(widths, utf8.RuneCountInString(c.Title))
		for _, row := range t.Rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	for width > 0 && t.width(shown, widths) > width {
		least := slices.MaxFunc(shown, func(a, b int) int { return t.Columns[a].Rank - t.Columns[b].Rank })
		if t.Columns[least].Rank == 0 {
			break
		}
		shown = slices.DeleteFunc(shown, func(i int) bool { return i == least })
	}
	var text strings.Builder
	t.line(&text, shown, widths, func(i int) string { return t.Columns[i].Title })
	for _, row := range t.Rows {
		t.line(&text, shown, widths, func(i int) string { return row[i] })
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// gap returns the spaces before a column.
func (t Table) gap(shown []int, i int) int {
	switch {
	case i == shown[0]:
		return 0
	case t.Columns[i].Close:
		return 1
	}
	return 2
}

// width returns the width of a line.
func (t Table) width(shown, widths []int) (all int) {
	for _, i := range shown {
		all += t.gap(shown, i) + widths[i]
	}
	return all
}

// line writes some cells without the spaces after the last one.
func (t Table) line(text *strings.Builder, shown, widths []int, cell func(i int) string) {
	var line strings.Builder
	for _, i := range shown {
		space := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell(i)))
		line.WriteString(strings.Repeat(" ", t.gap(shown, i)))
		if t.Columns[i].Left {
			line.WriteString(cell(i) + space)
		} else {
			line.WriteString(space + cell(i))
		}
	}
	text.WriteString(strings.TrimRight(line.String(), " ") + "\n")
}
