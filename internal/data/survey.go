package data

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gossiptrainer/model/sample"
)

// A Survey describes a user's file. Bad values are counted, not refused.
type Survey struct {
	File    string         `json:"file"`
	Format  string         `json:"format"`
	Shape   sample.Shape   `json:"shape"` // of a sample
	Rows    int            `json:"rows"`
	Label   string         `json:"label"` // where labels are
	Classes []ClassCount   `json:"classes"`
	Columns []ColumnSurvey `json:"columns"` // channels of pictures
	Missing int            `json:"missing"` // values and labels
	Wrong   int            `json:"wrong"`   // values that are no finite numbers
	First   []Complaint    `json:"first"`   // of the bad values, by column and reason
	Notes   []Note         `json:"notes,omitempty"`

	under way
}

// A Complaint is about bad values of one column for one reason.
type Complaint struct {
	Values int    `json:"values"`
	Place  string `json:"place"` // of the first
	Reason string `json:"reason"`

	of complaintKey
}

// A complaintKey tells complaints apart. Texts that are no numbers are one reason.
type complaintKey struct{ column, reason string }

// String writes a complaint for people.
func (c Complaint) String() string {
	if c.Values == 1 {
		return c.Place + ": " + c.Reason
	}
	return fmt.Sprintf("%s, the first of %d such values in the column: %s", c.Place, c.Values, c.Reason)
}

// A way is what a survey keeps while it reads a file.
type way struct {
	labels tally
	others int        // rows with further labels
	worst  *CellError // the first
	watch  *watch
	sparse bool
	sums   []running // by column or channel
}

// A ClassCount is a class with its rows.
type ClassCount struct {
	Name string `json:"name"`
	Rows int    `json:"rows"`
}

// A ColumnSurvey describes the values of a column, or of a channel of pictures, whose bytes count as 0..1.
type ColumnSurvey struct {
	Name      string  `json:"name"`
	Least     float64 `json:"least"`
	Most      float64 `json:"most"`
	Mean      float64 `json:"mean"`
	Deviation float64 `json:"deviation"`
	Lost      int     `json:"lost,omitempty"` // distinct values that are equal to others in 32 bits
}

const (
	surveyFirst   = 10   // complaints about bad values
	surveyClasses = 1000 // classes that are counted; more are one
)

// SurveyFiles reads the files of a set of the user and describes each: the train file, and the test file if there is
// one. It returns an error if a file cannot be read as a table, an array or pictures at all.
func SurveyFiles(spec FileSpec) ([]*Survey, error) {
	s := &userSet{spec: spec}
	if err := s.open(); err != nil {
		return nil, err
	}
	if err := settleSparse(s.files, spec); err != nil {
		return nil, err
	}
	var all []*Survey
	var failed error
	texts := spec.Classes
	for _, f := range s.files {
		survey := newSurvey(f)
		if failed = f.scan(survey.see, survey.count); failed != nil {
			break
		}
		survey.Notes = append(notesOf(f), survey.under.watch.notes(f, spec.Columns)...)
		all, texts = append(all, survey), append(texts, survey.under.labels.texts...)
	}
	for _, survey := range all {
		survey.end(naming(texts), spec)
	}
	return all, failed
}

func newSurvey(f rows) *Survey {
	made := f.form()
	s := &Survey{File: f.file(), Format: made.format, Shape: made.shape, Label: made.label,
		under: way{watch: newWatch(made), sparse: made.sparse, sums: make([]running, made.shape.C)}}
	s.Columns = make([]ColumnSurvey, made.shape.C)
	for c := range s.Columns {
		name := fmt.Sprintf("channel %d", c+1)
		if t, ok := f.(*sparseRows); ok {
			name = strconv.Itoa(t.first + c)
		} else if made.columns != nil {
			name = made.columns[c]
		}
		s.Columns[c].Name = name
	}
	return s
}

// see takes in a row.
func (s *Survey) see(_ int, r record) error {
	s.Rows++
	s.under.watch.see(r)
	channels := s.Shape.C
	for k, v := range r.floats {
		if v == v {
			s.value(k%channels, float64(v))
		}
	}
	for k, v := range r.bytes {
		s.value(k%channels, float64(v)/255)
	}
	for _, f := range r.sparse {
		s.value(int(f.index), float64(f.value))
	}
	if r.label == "" {
		return nil
	}
	if _, known := s.under.labels.at[r.label]; known || len(s.under.labels.texts) < surveyClasses {
		s.under.labels.add(r.label)
	} else {
		s.under.others++
	}
	return nil
}

func (s *Survey) value(c int, v float64) {
	column, m := &s.Columns[c], &s.under.sums[c]
	if m.n == 0 {
		column.Least, column.Most = v, v
	}
	column.Least, column.Most = min(column.Least, v), max(column.Most, v)
	m.add(v)
}

// count is the judge of a survey.
func (s *Survey) count(e *CellError) error {
	if e.Missing {
		s.Missing++
	} else {
		s.Wrong++
	}
	if s.under.worst == nil {
		s.under.worst = e
	}
	key := complaintKey{e.Column, e.Reason}
	if at := strings.LastIndexByte(e.Reason, '"'); at >= 0 {
		key.reason = e.Reason[at:] // without the text of the cell
	}
	for k := range s.First {
		if s.First[k].of == key {
			s.First[k].Values++
			return nil
		}
	}
	if len(s.First) < surveyFirst {
		s.First = append(s.First, Complaint{Values: 1, Place: e.Place(), Reason: e.Reason, of: key})
	}
	return nil
}

// Bad returns the first bad value as an error, nil if there is none.
func (s *Survey) Bad() error {
	if s.under.worst == nil {
		return nil
	}
	return s.under.worst.located()
}

// end names the classes, and adds means, deviations and the notes on all rows.
func (s *Survey) end(name func(label string) string, spec FileSpec) {
	for c, m := range s.under.sums {
		if column, absent := &s.Columns[c], float64(s.Rows)-m.n; s.under.sparse && absent > 0 {
			m.addZeros(absent)
			column.Least, column.Most = min(column.Least, 0), max(column.Most, 0)
		}
		s.Columns[c].Mean, s.Columns[c].Deviation = m.mean, m.deviation()
	}
	rows := map[string]int{}
	for at, text := range s.under.labels.texts {
		rows[name(text)] += s.under.labels.rows[at]
	}
	classes := slices.Collect(maps.Keys(rows))
	SortClasses(classes)
	s.Classes = make([]ClassCount, len(classes))
	for i, class := range classes {
		s.Classes[i] = ClassCount{class, rows[class]}
	}
	if s.under.others > 0 {
		s.Classes = append(s.Classes, ClassCount{"others", s.under.others})
	}
	s.Notes = append(s.Notes, s.under.labels.notes(s.File, name, spec.Columns.Missing)...)
	for _, m := range s.under.watch.merges() {
		s.Columns[m.column].Lost = m.distinct - m.left
		if !spec.Standardise {
			s.Notes = append(s.Notes, s.under.watch.merged(s.File, m))
		}
	}
}
