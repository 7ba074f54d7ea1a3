package data

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
)

// A watch looks for columns that number the rows: a model that reads them learns the order of the file. It also finds
// columns with values that are equal in 32 bits.
type watch struct {
	columns []watched
	rows    int
	most    int // rows whose values are kept
}

// A watched is a column while its file is read.
type watched struct {
	name        string
	first       float64
	counts      bool // each value is the one before plus 1
	least, most float64
	once        map[float64]bool // the values, while all are whole and none has occurred twice; then nil
	kept        []float64        // with 64 bits
}

const (
	fewRows   = 8       // rows that may count by chance
	mostOnce  = 1 << 20 // values that are kept to find one that occurs twice
	mostKept  = 1 << 20 // values of all columns together that are kept to find equal ones
	leastKept = 64      // of a column
)

// newWatch watches the columns of a table; other samples have no columns.
func newWatch(f form) *watch {
	w := &watch{most: max(leastKept, mostKept/max(1, len(f.columns)))}
	for _, name := range f.columns {
		w.columns = append(w.columns, watched{name: name, counts: true, once: map[float64]bool{}})
	}
	return w
}

// see takes in a row.
func (w *watch) see(r record) {
	for k, v := range r.floats {
		if k < len(w.columns) {
			c := &w.columns[k]
			if c.see(float64(v), w.rows); r.wide != nil && w.rows < w.most && r.wide[k] == r.wide[k] {
				c.kept = append(c.kept, r.wide[k])
			}
		}
	}
	w.rows++
}

func (c *watched) see(v float64, row int) {
	if row == 0 {
		c.first, c.least, c.most = v, v, v
	}
	c.counts = c.counts && v == c.first+float64(row)
	c.least, c.most = min(c.least, v), max(c.most, v)
	switch {
	case c.once == nil || row >= mostOnce:
	case v != math.Trunc(v) || c.once[v]:
		c.once = nil
	default:
		c.once[v] = true
	}
}

// numbering matches the names of columns that identify rows.
const numbering = `^(?i:id|idx|index|level_0|nr|no|number|row|rows?[ _.]?(id|no|nr|num|number|names?|index)|.*[ _.]id)$` +
	`|[a-z]I[dD]$`

// notes returns a loud note for each column of a file that numbers the rows. Columns that the run file names are
// wanted.
func (w *watch) notes(f rows, c Columns) (notes []Note) {
	if w.rows < fewRows || len(c.Features) > 0 {
		return nil
	}
	id := regexp.MustCompile(numbering)
	for _, c := range w.columns {
		var why string
		switch named := id.MatchString(c.name); {
		case c.counts:
			why = "counts the rows"
		case c.once == nil:
			continue
		case named:
			why = "has another number in each row"
		case c.most-c.least == float64(w.rows-1):
			why = fmt.Sprintf("has each number from %.0f to %.0f once", c.least, c.most)
		default:
			continue
		}
		notes = append(notes, Note{f.file(), rowNumbers(f.file(), c.name, why), true})
	}
	return notes
}

// rowNumbers warns of a column that numbers the rows.
func rowNumbers(file, name, why string) string {
	return fmt.Sprintf("%s: column %s %s, and the model learns from it: if it is no feature, leave it out with "+
		"data.skip: [%s]", file, name, why, quoted(name))
}

// quoted returns a name as a run file takes it in a list.
func quoted(name string) string {
	if strings.ContainsAny(name, ",[]{}#:&*!|>'\"%@` ") || name == "" || isNumber(name) {
		return fmt.Sprintf("%q", name)
	}
	return name
}

// A merge is a column with values that differ in 64 bits and are equal in 32.
type merge struct {
	column         int
	distinct, left int // values with 64 bits, and with 32
	rows           int // in which they were counted, from the first on
}

// merges returns the columns that lose at least a hundredth of their distinct values.
func (w *watch) merges() (all []merge) {
	for k, c := range w.columns {
		slices.Sort(c.kept)
		m := merge{column: k, rows: len(c.kept)}
		for i, v := range c.kept {
			if i == 0 || v != c.kept[i-1] {
				m.distinct++
			}
			if i == 0 || float32(v) != float32(c.kept[i-1]) {
				m.left++
			}
		}
		if lost := m.distinct - m.left; lost > 0 && 100*lost >= m.distinct {
			all = append(all, m)
		}
	}
	return all
}

// merged warns of a column of a file that loses values.
func (w *watch) merged(file string, m merge) Note {
	rows := ""
	if m.rows < w.rows {
		rows = fmt.Sprintf(" of the first %d rows", m.rows)
	}
	return Note{file, lostValues(file, w.columns[m.column].name, m.distinct, rows, m.left), true}
}

// lostValues warns of values that become equal.
func lostValues(file, name string, distinct int, rows string, left int) string {
	return fmt.Sprintf("%s: column %s: %d distinct values%s are only %d in 32 bits: data.standardise: true keeps them "+
		"apart, or subtract an offset in the file", file, name, distinct, rows, left)
}
