package screen

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// A fakeScreen is a terminal that keeps what has scrolled off its top. Lines that are too long continue in the next
// row.
type fakeScreen struct {
	width, height int
	gone          []string // rows above the screen
	rows          []string
	y             int
	x             int
	cursor        bool
}

func newScreen(width, height int) *fakeScreen {
	return &fakeScreen{width: width, height: height, rows: []string{""}, cursor: true}
}

var sequence = regexp.MustCompile(`^\x1b\[(\??)([0-9]*)([a-zA-Z])`)

// Write obeys the escape codes that the display uses.
func (s *fakeScreen) Write(text []byte) (int, error) {
	for rest := string(text); rest != ""; {
		if code := sequence.FindStringSubmatch(rest); code != nil {
			rest = rest[len(code[0]):]
			s.obey(code[1] != "", code[2], code[3])
			continue
		}
		r := []rune(rest)[0]
		rest = rest[len(string(r)):]
		switch r {
		case '\r':
			s.x = 0
		case '\n':
			s.x = 0
			s.down()
		default:
			s.put(r)
		}
	}
	return len(text), nil
}

func (s *fakeScreen) obey(private bool, number, letter string) {
	n, _ := strconv.Atoi(number)
	switch {
	case private && n == 25:
		s.cursor = letter == "h"
	case letter == "A":
		s.y = max(0, s.y-max(n, 1))
	case letter == "J":
		s.rows = s.rows[:s.y+1]
		s.rows[s.y] = ansi.Truncate(s.rows[s.y], s.x, "")
	case letter == "K" && n == 2:
		s.rows[s.y] = ""
	}
}

func (s *fakeScreen) put(r rune) {
	if s.x == s.width {
		s.x = 0
		s.down()
	}
	row := []rune(s.rows[s.y])
	for len(row) <= s.x {
		row = append(row, ' ')
	}
	row[s.x] = r
	s.rows[s.y] = string(row)
	s.x++
}

// down moves to the next row, and scrolls at the bottom.
func (s *fakeScreen) down() {
	if s.y++; s.y == len(s.rows) {
		s.rows = append(s.rows, "")
	}
	if len(s.rows) > s.height {
		s.gone = append(s.gone, s.rows[0])
		s.rows = s.rows[1:]
		s.y--
	}
}

// resize makes the terminal narrower or wider, and folds its rows.
func (s *fakeScreen) resize(width int) {
	folded := newScreen(width, s.height)
	for i, row := range s.rows {
		folded.Write([]byte(strings.TrimRight(row, " ")))
		if i < len(s.rows)-1 {
			folded.Write([]byte("\n"))
		}
	}
	folded.gone = append(s.gone, folded.gone...)
	folded.cursor = s.cursor
	*s = *folded
}

// text returns all rows that have been written, without blanks at their ends.
func (s *fakeScreen) text() []string {
	var all []string
	for _, row := range append(s.gone[:len(s.gone):len(s.gone)], s.rows...) {
		if row = strings.TrimRight(row, " "); row != "" {
			all = append(all, row)
		}
	}
	return all
}
