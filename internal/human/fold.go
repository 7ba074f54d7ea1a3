package human

import (
	"io"
	"strings"
	"unicode/utf8"
)

// Fold breaks a line at blanks into lines of at most width characters. The lines after the first begin below the second
// column of a table of two, if the line is a row of one, and else two characters to the right. A word that is longer
// than a line stays whole. A width of 0 breaks nothing.
func Fold(line string, width int) []string {
	if width <= 0 || utf8.RuneCountInString(line) <= width {
		return []string{line}
	}
	indent := strings.Repeat(" ", hanging(line, width))
	var lines []string
	start, words := "", ""
	for _, word := range strings.SplitAfter(line, " ") {
		if words != "" && utf8.RuneCountInString(start+words+strings.TrimRight(word, " ")) > width {
			lines = append(lines, strings.TrimRight(start+words, " "))
			start, words = indent, strings.TrimLeft(word, " ")
			continue
		}
		words += word
	}
	return append(lines, strings.TrimRight(start+words, " "))
}

// hanging returns the indent of the lines after the first.
func hanging(line string, width int) int {
	const usual, widest = 2, 20 // of the first column with its gap
	gap := strings.Index(line, "  ")
	if gap <= 0 || gap > widest {
		return usual
	}
	column := gap + len(line[gap:]) - len(strings.TrimLeft(line[gap:], " "))
	if column > min(widest, width/2) {
		return usual
	}
	return column
}

// Folded returns a writer that folds the lines of w to a width, and w itself for a width of 0. It keeps a line until
// its end is written.
func Folded(w io.Writer, width int) io.Writer {
	if width <= 0 {
		return w
	}
	return &folded{to: w, width: width}
}

type folded struct {
	to    io.Writer
	width int
	line  strings.Builder // without its end so far
}

func (f *folded) Write(text []byte) (int, error) {
	for piece := range strings.Lines(string(text)) {
		f.line.WriteString(strings.TrimSuffix(piece, "\n"))
		if !strings.HasSuffix(piece, "\n") {
			break
		}
		lines := Fold(f.line.String(), f.width)
		f.line.Reset()
		if _, err := io.WriteString(f.to, strings.Join(lines, "\n")+"\n"); err != nil {
			return 0, err
		}
	}
	return len(text), nil
}
