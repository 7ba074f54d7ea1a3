package data

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
)

// A wordReader reads tables with blanks between their cells, as numpy.savetxt and R write them, and the UCI repository
// has them. Empty lines and those that begin with # are left out. A cell in double quotes may hold blanks. The last
// comment above the rows has the names of the columns if it has as many words as the first row and no number.
type wordReader struct {
	lines  *bufio.Scanner
	line   int      // number of the last line
	fields []string // of the last row
	first  bool     // a row was read
	ahead  bool     // fields come next, behind the names
}

func newWordReader(r io.Reader) *wordReader {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, csvRecord)
	return &wordReader{lines: lines}
}

// Read returns the next row, io.EOF at the end. It is valid until the next call.
func (w *wordReader) Read() ([]string, error) {
	if w.ahead {
		w.ahead = false
		return w.fields, nil
	}
	var names []string
	for w.lines.Scan() {
		w.line++
		text := strings.TrimSpace(w.lines.Text())
		if text == "" {
			continue
		}
		if comment, ok := strings.CutPrefix(text, "#"); ok {
			names, _ = splitWords(nil, comment)
			continue
		}
		var closed bool
		if w.fields, closed = splitWords(w.fields[:0], text); !closed {
			return nil, fmt.Errorf("a quote is left open")
		}
		above := !w.first && len(names) == len(w.fields) && !slices.ContainsFunc(names, isNumber)
		w.first = true
		if above {
			w.ahead = true
			return names, nil
		}
		return w.fields, nil
	}
	if err := w.lines.Err(); err != nil {
		return nil, err
	}
	return nil, io.EOF
}

// splitWords appends the cells of a line, and reports whether its quotes are closed.
func splitWords(cells []string, line string) (all []string, closed bool) {
	for {
		line = strings.TrimLeft(line, " \t\r\v\f")
		if line == "" {
			return cells, true
		}
		if line[0] != '"' {
			end := strings.IndexAny(line, " \t\r\v\f")
			if end < 0 {
				end = len(line)
			}
			cells, line = append(cells, line[:end]), line[end:]
			continue
		}
		end := strings.IndexByte(line[1:], '"')
		if end < 0 {
			return cells, false
		}
		cells, line = append(cells, line[1:1+end]), line[end+2:]
	}
}

// hasWords reports whether the lines of a table without commas, semicolons and tabs are cells with blanks between them:
// the first two rows, without comments, have equally many. Above row numbers R writes no name.
func hasWords(head []byte) bool {
	if end := bytes.LastIndexByte(head, '\n'); len(head) >= sniffBytes && end > 0 {
		head = head[:end] // the last line may be cut
	}
	w := newWordReader(bytes.NewReader(head))
	first, err := w.Read()
	n := len(first)
	if err != nil || n < 2 {
		return false
	}
	second, err := w.Read()
	return err == io.EOF || err == nil && (len(second) == n || len(second) == n+1)
}

// numbersInCell reports whether a cell between tabs is several numbers with blanks between them.
func numbersInCell(cell []byte) bool {
	words := strings.Fields(string(cell))
	return len(words) > 1 && !slices.ContainsFunc(words, func(word string) bool { return !isNumber(word) })
}

// withoutComments returns a text from its first line on that does not begin with #, all of it if each does.
func withoutComments(head []byte) []byte {
	for rest := head; len(rest) > 0; {
		line, next, _ := bytes.Cut(rest, []byte("\n"))
		if begin := bytes.TrimSpace(line); len(begin) > 0 && begin[0] != '#' {
			return rest
		}
		rest = next
	}
	return head
}

// isWordTable reports whether a text whose name tells nothing is a table with blanks between its cells: at least half
// of the cells of the second row are numbers.
func isWordTable(head []byte) bool {
	if !hasWords(head) {
		return false
	}
	w := newWordReader(bytes.NewReader(head))
	row, _ := w.Read()
	if next, err := w.Read(); err == nil {
		row = next
	}
	numbers := 0
	for _, cell := range row {
		if isNumber(cell) {
			numbers++
		}
	}
	return 2*numbers >= len(row)
}
