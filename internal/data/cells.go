package data

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gossiptrainer/model/sample"
)

// Rows of a user's file are read one after the other. A reader of a format gives every row to a visitor, and every cell
// that holds no finite number to a judge: training stops there, a survey counts.

// rows are the samples of one file, or of a folder.
type rows interface {
	form() form
	// scan visits all rows in order. The judge of bad cells returns nil to go on; the value is then NaN, or the label "".
	scan(see func(i int, r record) error, judge func(*CellError) error) error
}

// A form is how the samples of a file look.
type form struct {
	format  string       // for people
	shape   sample.Shape // of a sample
	pixels  bool         // values are bytes 0..255
	columns []string     // names of the values of a table; nil for pictures
	label   string       // where labels are, for people
}

// A record is one sample. It is valid during the call.
type record struct {
	label  string    // as classOf returns it
	floats []float32 // or
	bytes  []uint8   // of pixels
}

// A CellError says which cell of a user's file is missing or no finite number.
type CellError struct {
	File    string
	Row     int    // of the samples, from 1
	Line    int    // of a text file, from 1; 0: not a text file
	Column  string // number or name
	Missing bool
	Reason  string
}

func (e *CellError) Error() string { return e.located().Error() }

// Place returns row, line and column.
func (e *CellError) Place() string {
	text := fmt.Sprintf("row %d", e.Row)
	if e.Line > 0 {
		text += fmt.Sprintf(" (line %d)", e.Line)
	}
	return text + ", column " + e.Column
}

// located returns the error as one of the file's format.
func (e *CellError) located() *FormatError {
	return &FormatError{File: e.File, Place: e.Place(), Err: fmt.Errorf("%s", e.Reason)}
}

// strict is the judge that accepts no bad cell.
func strict(e *CellError) error { return e.located() }

// Reasons for bad cells.
const (
	missingCell = "the value is missing: fill it in, or remove the row"
	hugeCell    = "the value is not finite in 32 bits: scale the column, or remove the row"
	noLabel     = "the label is missing: fill it in, or remove the row"
)

// number parses the text of a cell; the reason is "" for a finite number.
func number(text string) (v float32, reason string) {
	text = strings.TrimSpace(text)
	if absent(text) {
		return float32(math.NaN()), missingCell
	}
	wide, err := strconv.ParseFloat(text, 32)
	switch {
	case err == nil && !math.IsInf(wide, 0) && !math.IsNaN(wide):
		return float32(wide), ""
	case err == nil || math.IsInf(wide, 0):
		return float32(math.NaN()), hugeCell
	case looksDecimal(text):
		return float32(math.NaN()), fmt.Sprintf("%.30q has a decimal comma: write decimal points", text)
	}
	return float32(math.NaN()), fmt.Sprintf("%.30q is no number: encode it as numbers, "+
		"or leave the column out with data.skip", text)
}

// looksDecimal reports whether a text is a number with a decimal comma.
func looksDecimal(text string) bool {
	_, err := strconv.ParseFloat(strings.Replace(text, ",", ".", 1), 64)
	return err == nil
}

// absent reports whether a text stands for a missing value.
func absent(text string) bool {
	switch strings.ToLower(text) {
	case "", "na", "n/a", "nan", "null", "none", "?", "-":
		return true
	}
	return false
}

// narrow returns a value as float32, and the reason if it is not finite.
func narrow(v float64) (float32, string) {
	f := float32(v)
	switch {
	case v != v:
		return f, missingCell
	case math.IsInf(float64(f), 0):
		return float32(math.NaN()), hugeCell
	}
	return f, ""
}

// classOf returns the name of a class: numbers that are equal have one name, other texts are taken as they are. It
// returns "" for a missing label.
func classOf(text string) string {
	text = strings.TrimSpace(text)
	if absent(text) {
		return ""
	}
	if v, err := strconv.ParseFloat(text, 64); err == nil {
		return classOfNumber(v)
	}
	return text
}

// classOfNumber is classOf for a number.
func classOfNumber(v float64) string {
	if v != v || math.IsInf(v, 0) {
		return ""
	}
	return strconv.FormatFloat(v+0, 'f', -1, 64) // + 0 makes −0 the number 0
}

// ClassNames returns names of classes in the form that samples have: numbers that are equal have one name.
func ClassNames(texts []string) []string {
	names := make([]string, len(texts))
	for i, text := range texts {
		if names[i] = classOf(text); names[i] == "" {
			names[i] = text
		}
	}
	return names
}

// Columns says how the columns of a table, or the arrays of an archive, are used.
type Columns struct {
	Label    string   // name or number of the column, or name of the array or file, of the labels
	Features []string // columns or array that are read; empty = all but the label
	Skip     []string // columns that are not read
	Header   string   // whether the first line has names: auto, present or absent; "" = auto
}

// A selection is the label column and the feature columns, from 0.
type selection struct {
	label    int
	features []int
}

// choose finds the columns of a table of n columns; names is nil where they have none.
func (c Columns) choose(names []string, n int) (selection, error) {
	var s selection
	var err error
	if s.label, err = c.labelColumn(names, n); err != nil {
		return s, err
	}
	var skipped []int
	for _, ref := range c.Skip {
		at, err := findColumn("data.skip", ref, names, n)
		if err != nil {
			return s, err
		}
		skipped = append(skipped, at)
	}
	for _, ref := range c.Features {
		at, err := findColumn("data.features", ref, names, n)
		switch {
		case err != nil:
			return s, err
		case at == s.label:
			return s, fmt.Errorf("data.features: %s is the column of the labels", ref)
		case slices.Contains(s.features, at):
			return s, fmt.Errorf("data.features: %s occurs twice", ref)
		}
		s.features = append(s.features, at)
	}
	for at := range n {
		if len(c.Features) == 0 && at != s.label {
			s.features = append(s.features, at)
		}
	}
	s.features = slices.DeleteFunc(s.features, func(at int) bool { return slices.Contains(skipped, at) })
	switch {
	case slices.Contains(skipped, s.label):
		return s, fmt.Errorf("data.skip: %s is the column of the labels", columnName(names, s.label))
	case len(s.features) == 0:
		return s, fmt.Errorf("no column is left to learn from beside the label")
	}
	return s, nil
}

// labelColumn returns the column of the labels: the given one, else the one that is named label, else the last.
func (c Columns) labelColumn(names []string, n int) (int, error) {
	if c.Label != "" {
		return findColumn("data.label", c.Label, names, n)
	}
	for i, name := range names {
		if strings.EqualFold(name, "label") {
			return i, nil
		}
	}
	return n - 1, nil
}

// findColumn returns the column that ref names: by its name, or by its number, 1 for the first and -1 for the last.
func findColumn(key, ref string, names []string, n int) (int, error) {
	at := slices.Index(names, ref)
	if at >= 0 && slices.Contains(names[at+1:], ref) {
		return 0, fmt.Errorf("%s: several columns have the name %q: give its number, 1 to %d", key, ref, n)
	}
	if at >= 0 {
		return at, nil
	}
	v, err := strconv.Atoi(ref)
	switch {
	case err == nil && v >= 1 && v <= n:
		return v - 1, nil
	case err == nil && v <= -1 && v >= -n:
		return n + v, nil
	case names == nil:
		return 0, fmt.Errorf("%s: %q: want a column number, 1 to %d, or -1 for the last", key, ref, n)
	}
	return 0, fmt.Errorf("%s: there is no column %q among %s", key, ref, several(names))
}

// columnName names column i in errors.
func columnName(names []string, i int) string {
	if names == nil {
		return strconv.Itoa(i + 1)
	}
	return fmt.Sprintf("%d (%s)", i+1, names[i])
}

// several joins names for people, the first of many.
func several(names []string) string {
	const most = 12
	if len(names) > most {
		return fmt.Sprintf("%s and %d others", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// featureNames returns the names of the chosen columns.
func (s selection) featureNames(names []string) []string {
	chosen := make([]string, len(s.features))
	for k, at := range s.features {
		chosen[k] = strconv.Itoa(at + 1)
		if names != nil {
			chosen[k] = names[at]
		}
	}
	return chosen
}

// tableForm returns the form of a table with these columns.
func (s selection) tableForm(format string, names []string) form {
	return form{
		format: format, shape: sample.Shape{H: 1, W: 1, C: len(s.features)},
		columns: s.featureNames(names), label: "column " + columnName(names, s.label),
	}
}
