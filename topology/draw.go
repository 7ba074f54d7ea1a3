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
	s := g.spec
	switch {
	case s.Kind == Ring && s.N > 2 && s.N <= 2*maxRow:
		return drawLoop(s.N)
	case s.Kind == Torus && s.Rows <= pageWidth && s.Cols <= maxRow:
		if grid := drawTorus(s.Rows, s.Cols); lineWidth(grid) <= pageWidth {
			return grid
		}
	case s.N <= 2 || s.Kind == Path && s.N <= maxRow:
		return drawLine(labels(s.N)) + "\n"
	case s.N <= maxTable:
		return g.drawTable()
	}
	return fmt.Sprintf("%v: too large to draw\n", s)
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

// drawLoop draws n ≥ 3 workers from left to right and back below:
//
//	0 ── 1 ── 2
//	│         │
//	4 ── 3 ───┘
func drawLoop(n int) string {
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
func drawTorus(rows, cols int) string {
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
		return bars + picture + bars
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
