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
	notes   []string     // what people should know of the file
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
