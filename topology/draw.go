package topology

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of a page of 80 columns: workers side by side in a loop or line, and workers in a table. The labels limit a
// torus.
const (
	pageWidth = 80
	maxRow    = 13
	maxTable  = 24
)

// Draw writes a picture of the graph in plain text. It draws a ring as a loop, a torus as a grid, a path as a line, and
// any other graph as a table of its edges. A graph that is too large for 80 columns gets one line that says so.
func (g *Graph) Draw(w io.Writer) error {
	_, err := io.WriteString(w, g.picture())
	return err
}

func (g *Graph) picture() string {
	if g.family.picture != nil {
		if picture := g.family.picture(g.spec); picture != "" {
			return picture
		}
	}
	switch n := g.N(); {
	case n <= 2:
		return drawLine(labels(n)) + "\n"
	case n <= maxTable:
		return g.drawTable()
	}
	return fmt.Sprintf("%v: too large to draw\n", g.spec)
}

func drawPath(s Spec) string {
	if s.N > maxRow {
		return ""
	}
	return drawLine(labels(s.N)) + "\n"
}

// lineWidth returns the columns of the longest line.
func lineWidth(text string) int {
	width := 0
	for line := range strings.Lines(text) {
		width = max(width, utf8.RuneCountInString(line)-1)
	}
	return width
}

// labels returns 0 … n−1 as text of equal width.
func labels(n int) []string {
	width := len(strconv.Itoa(n - 1))
	text := make([]string, n)
	for i := range text {
		text[i] = fmt.Sprintf("%*d", width, i)
	}
	return text
}

func drawLine(labels []string) string { return strings.Join(labels, " ── ") }

// drawLoop draws 3 workers or more from left to right and back below:
//
//	0 ── 1 ── 2
//	│         │
//	4 ── 3 ───┘
func drawLoop(s Spec) string {
	n := s.N
	if n < 3 || n > 2*maxRow {
		return ""
	}
	text := labels(n)
	indent := strings.Repeat(" ", len(text[0])-1)
	above, below := text[:(n+1)/2], slices.Clone(text[(n+1)/2:])
	slices.Reverse(below)
	upper, lower := drawLine(above), drawLine(below)
	width := utf8.RuneCountInString(upper)
	if n%2 == 1 {
		lower += " " + strings.Repeat("─", width-utf8.RuneCountInString(lower)-2) + "┘"
	}
	sides := indent + "│" + strings.Repeat(" ", width-len(indent)-2) + "│"
	return upper + "\n" + sides + "\n" + lower + "\n"
}

// drawTorus draws the grid. A line that leaves it on one side enters it on the opposite one. A side of two has no such
// lines, because its ends are neighbours already:
//
//	   │    │    │
//	── 0 ── 1 ── 2 ──
//	   │    │    │
//	── 3 ── 4 ── 5 ──
//	   │    │    │
//	── 6 ── 7 ── 8 ──
//	   │    │    │
func drawTorus(s Spec) string {
	rows, cols := s.Rows, s.Cols
	if rows > pageWidth || cols > maxRow {
		return ""
	}
	text := labels(rows * cols)
	before, after := "", ""
	if cols > 2 {
		before, after = "── ", " ──"
	}
	bar := strings.Repeat(" ", len(text[0])-1) + "│" + strings.Repeat(" ", len(" -- "))
	bars := strings.Repeat(" ", utf8.RuneCountInString(before)) + strings.Repeat(bar, cols)
	bars = strings.TrimRight(bars, " ") + "\n"
	lines := make([]string, rows)
	for row := range lines {
		lines[row] = before + drawLine(text[row*cols:(row+1)*cols]) + after + "\n"
	}
	picture := strings.Join(lines, bars)
	if rows > 2 {
		picture = bars + picture + bars
	}
	if lineWidth(picture) > pageWidth {
		return ""
	}
	return picture
}

// drawTable marks the edges in an n×n table.
func (g *Graph) drawTable() string {
	var b strings.Builder
	b.WriteString("  ")
	for i := range g.N() {
		fmt.Fprintf(&b, "%3d", i)
	}
	b.WriteByte('\n')
	for i := range g.N() {
		fmt.Fprintf(&b, "%2d", i)
		for j := range g.N() {
			mark := "·"
			switch {
			case slices.Contains(g.neighbors[i], Rank(j)):
				mark = "●"
			case i == j:
				mark = "╲"
			}
			b.WriteString("  " + mark)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
