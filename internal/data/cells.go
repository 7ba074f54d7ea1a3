package data

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"gossiptrainer/model/sample"
)

// Rows of a user's file are read one after the other. A reader of a format gives every row to a visitor, and every cell
// that holds no finite number to a judge: training stops there, a survey counts.

// rows are the samples of one file, or of a folder.
type rows interface {
	form() form
	file() string // its name
	// scan visits all rows in order. The judge of bad cells returns nil to go on; the value is then NaN, or the label "".
	scan(see func(i int, r record) error, judge func(*CellError) error) error
}

// A form is how the samples of a file look.
type form struct {
	format  string       // for people
	shape   sample.Shape // of a sample
	pixels  bool         // values are bytes 0..255
	sparse  bool         // values that a file does not have are 0
	columns []string     // names of the values of a table, or their numbers; nil for pictures and LIBSVM text
	named   bool         // columns are names
	first   *int         // index of the first value in LIBSVM text
	byName  string       // name of the label column, "" if it has none
	label   string       // where labels are, for people
	notes   []string     // for users, about the file
}

// A record is one sample. It is valid during the call.
type record struct {
	label  string    // its text, "" if it is missing
	floats []float32 // or
	bytes  []uint8   // of pixels
	wide   []float64 // the floats with 64 bits; nil: they have no more than 32
	sparse []feature // the values other than 0, in place of floats
}

// wideOf returns float k with 64 bits.
func (r record) wideOf(k int) float64 {
	if r.wide != nil {
		return r.wide[k]
	}
	return float64(r.floats[k])
}

// values returns the number of values that a record has in memory.
func (r record) values() int { return len(r.floats) + len(r.bytes) + len(r.sparse) }

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
	err := fmt.Errorf("%s", e.Reason)
	if e.Reason == noLabel {
		err = &LabelError{err}
	}
	return &FormatError{File: e.File, Place: e.Place(), Err: err}
}

// strict is the judge that accepts no bad cell.
func strict(e *CellError) error { return e.located() }

// Reasons for bad cells.
const (
	missingCell = "the value is missing: fill it in, or remove the row"
	hugeCell    = "the value is not finite in 32 bits: scale the column, or remove the row"
	noLabel     = "the label is missing: fill it in, or remove the row; data.label names another column, and " +
		"data.missing the texts that count as missing"
	noNumber = ": data.encode: true makes numbers of texts, data.skip leaves the column out, and data.label names the " +
		"column of the classes"
)

// number parses the text of a cell, also in 64 bits; the reason is "" for a finite number.
func number(text string, missing Absence) (v float32, wide float64, reason string) {
	text = strings.TrimSpace(text)
	if missing.value(text) {
		return float32(math.NaN()), math.NaN(), missingCell
	}
	wide, err := strconv.ParseFloat(text, 64)
	v = float32(wide)
	if err == nil && twiceRounded(wide) {
		once, _ := strconv.ParseFloat(text, 32)
		v = float32(once)
	}
	switch infinite := math.IsInf(float64(v), 0) || math.IsNaN(wide); {
	case err == nil && !infinite:
		return v, wide, ""
	case err == nil || math.IsInf(wide, 0):
		reason = hugeCell
	case looksDecimal(text):
		reason = fmt.Sprintf("%.30q has a decimal comma: write decimal points, or semicolons between the columns", text)
	default:
		reason = fmt.Sprintf("%.30q is no number"+noNumber, text)
	}
	return float32(math.NaN()), math.NaN(), reason
}

// twiceRounded reports whether a text that rounds to v in 64 bits can round to another number in 32 bits than v does.
// It can if v lies in the middle between two of these, or is subnormal there.
func twiceRounded(v float64) bool {
	const below, half = 1<<29 - 1, 1 << 28
	return math.Float64bits(v)&below == half || v != 0 && math.Abs(v) < 0x1p-126
}

// looksDecimal reports whether a text is a number with a decimal comma.
func looksDecimal(text string) bool {
	_, err := strconv.ParseFloat(strings.Replace(text, ",", ".", 1), 64)
	return err == nil
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
