// Package markdown is shared by the programs that write documents: their main function and Markdown tables. It escapes
// nothing in cells.
package markdown

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Table returns a Markdown table that is also aligned as text, the first column
// flush left and the others flush right. The first row is the heading; all rows
// have as many cells.
func Table(rows [][]string) string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for n, row := range rows {
		for i, cell := range row {
			space := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				cell += space
			} else {
				cell = space + cell
			}
			b.WriteString("| " + cell + " ")
		}
		b.WriteString("|\n")
		if n == 0 {
			b.WriteString("|" + strings.Repeat("-", widths[0]+2))
			for _, w := range widths[1:] {
				b.WriteString("|" + strings.Repeat("-", w+1) + ":")
			}
			b.WriteString("|\n")
		}
	}
	return b.String()
}

// Seeds names the seeds from 1 to n in a sentence: "with " + Seeds(3).
func Seeds(n int) string {
	if n == 1 {
		return "the seed 1"
	}
	return fmt.Sprintf("each of the seeds 1 to %d", n)
}
