package data

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gossiptrainer/model/sample"
)

// noFeatures is the mistake of a table that has labels alone.
const noFeatures = "no column is left to learn from beside the label"

// Columns says how the columns of a table, or the arrays of an archive, are used.
type Columns struct {
	Label    string   // name or number of the column, or name of the array or file, of the labels
	Features []string // columns or array that are read; empty = all but the label
	Skip     []string // columns that are not read
	Header   string   // whether the first line has names: auto, present or absent; "" = auto
	Missing  Absence  // texts that count as missing
	Encode   bool     // texts become columns of 0 and 1, and a missing number the mean of its column
	NoLabel  bool     // there is no label: all columns but those to skip are features
	trained  *Trained // nil: the columns are for a new model
}

// A selection is the label column and the feature columns, from 0.
type selection struct {
	label    int // -1: none
	features []int
	values   []string // by feature: the text of the column whose rows are 1, "" for numbers; nil: all are numbers
	index    []int    // columns that are left out, because a program wrote its row numbers there
}

// indexNames matches the names that pandas gives to row numbers: in Parquet, and when it reads a CSV file with them.
const indexNames = `^(__index_level_[0-9]+__|Unnamed: 0(\.[0-9]+)*)$`

// indexColumns returns the columns that hold the row numbers of pandas or R: those of such names, and a first column
// without a name.
func indexColumns(names []string) []int {
	var index []int
	written := regexp.MustCompile(indexNames)
	for at, name := range names {
		if written.MatchString(name) || at == 0 && name == "" {
			index = append(index, at)
		}
	}
	return index
}

// choose finds the columns of a table of n columns; names is nil where they have none. The columns index hold row
// numbers: they are used only where the run file names them.
func (c Columns) choose(names []string, n int, index []int) (selection, error) {
	s := selection{label: -1}
	c, err := c.trained.choose(c, names)
	if err == nil && !c.NoLabel {
		s.label, err = c.labelColumn(names, n, index)
	}
	if err != nil {
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
		at, value, err := featureColumn(ref, names, n)
		switch {
		case err != nil:
			return s, err
		case at == s.label && c.trained != nil && c.Label == "":
			return s, fmt.Errorf("no column has the labels: name it with data.label")
		case at == s.label:
			return s, fmt.Errorf("data.features: %s is the column of the labels", ref)
		case s.has(at, value):
			return s, fmt.Errorf("data.features: %s occurs twice", ref)
		case !slices.Contains(skipped, at):
			s.add(at, value)
		}
	}
	for at := range n {
		switch isIndex := slices.Contains(index, at); {
		case at == s.label || len(c.Features) > 0:
		case isIndex && !slices.Contains(skipped, at):
			s.index = append(s.index, at)
		case !isIndex && !slices.Contains(skipped, at):
			s.add(at, "")
		}
	}
	if !slices.ContainsFunc(s.values, func(value string) bool { return value != "" }) {
		s.values = nil
	}
	switch {
	case slices.Contains(skipped, s.label):
		return s, fmt.Errorf("data.skip: %s is the column of the labels", columnName(names, s.label))
	case len(s.features) == 0:
		return s, errors.New(noFeatures)
	}
	return s, nil
}

// has reports whether a feature is chosen.
func (s selection) has(at int, value string) bool {
	for k, other := range s.features {
		if other == at && s.values[k] == value {
			return true
		}
	}
	return false
}

// labelName is the name of the label column, in any case, where the run file names none.
const labelName = "label"

// labelColumn returns the column of the labels: the given one, else the one that is named label, else the last.
func (c Columns) labelColumn(names []string, n int, index []int) (int, error) {
	if c.Label != "" {
		return findColumn("data.label", c.Label, names, n)
	}
	for i, name := range names {
		if strings.EqualFold(name, labelName) {
			return i, nil
		}
	}
	for n > 1 && slices.Contains(index, n-1) {
		n--
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
	if names == nil || names[i] == "" {
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
		if value := s.valueOf(k); value != "" {
			chosen[k] += "=" + value
		}
	}
	return chosen
}

// tableForm returns the form of a table with these columns.
func (s selection) tableForm(format string, names []string) form {
	made := form{
		format: format, shape: sample.Shape{H: 1, W: 1, C: len(s.features)},
		columns: s.featureNames(names), named: names != nil,
	}
	if s.label >= 0 {
		if made.label = "column " + columnName(names, s.label); names != nil {
			made.byName = names[s.label]
		}
	}
	for _, at := range s.index {
		made.notes = append(made.notes, leftOut(at, names[at]))
	}
	return made
}

// leftOut says that a column is not read.
func leftOut(at int, name string) string {
	why := fmt.Sprintf("column %d (%s) is the index of pandas", at+1, name)
	if name == "" {
		why = fmt.Sprintf("column %d has no name, as row numbers of pandas and R have none", at+1)
	}
	return why + ": it is left out; data.features can name it"
}
