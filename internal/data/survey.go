package data

import (
	"fmt"
	"slices"

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
	First   []string       `json:"first"`   // of the bad values, with their places
	Notes   []Note         `json:"notes,omitempty"`

	known map[string]int // classes by position
	worst *CellError     // the first
	watch *watch
	sums  []running
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
}

const (
	surveyFirst   = 10   // bad values with their places
	surveyClasses = 1000 // classes that are counted; more are one
)

// SurveyFiles reads the files of a set of the user and describes each: the train file, and the test file if there is
// one. It returns an error if a file cannot be read as a table, an array or pictures at all.
func SurveyFiles(spec FileSpec) ([]*Survey, error) {
	s := &userSet{spec: spec}
	if err := s.open(); err != nil {
		return nil, err
	}
	var all []*Survey
	for _, f := range s.files {
		survey := newSurvey(f)
		if err := f.scan(survey.see, survey.count); err != nil {
			return all, err
		}
		survey.end()
		survey.Notes = append(survey.Notes, survey.watch.notes(f, spec.Columns)...)
		all = append(all, survey)
	}
	return all, nil
}

func newSurvey(f rows) *Survey {
	made := f.form()
	s := &Survey{File: nameOf(f), Format: made.format, Shape: made.shape, Label: made.label,
		Notes: notesOf(f), watch: newWatch(made), known: map[string]int{}, sums: make([]running, made.shape.C)}
	names := made.columns
	if names == nil {
		for c := range made.shape.C {
			names = append(names, fmt.Sprintf("channel %d", c+1))
		}
	}
	for _, name := range names {
		s.Columns = append(s.Columns, ColumnSurvey{Name: name})
	}
	return s
}

// see takes in a row.
func (s *Survey) see(_ int, r record) error {
	s.Rows++
	s.watch.see(r)
	channels := s.Shape.C
	for k, v := range r.floats {
		if v == v {
			s.value(k%channels, float64(v))
		}
	}
	for k, v := range r.bytes {
		s.value(k%channels, float64(v)/255)
	}
	if r.label == "" {
		return nil
	}
	at, ok := s.known[r.label]
	switch {
	case ok:
		s.Classes[at].Rows++
	case len(s.Classes) < surveyClasses:
		s.known[r.label] = len(s.Classes)
		s.Classes = append(s.Classes, ClassCount{r.label, 1})
	case len(s.Classes) == surveyClasses:
		s.Classes = append(s.Classes, ClassCount{"others", 1})
	default:
		s.Classes[surveyClasses].Rows++
	}
	return nil
}

func (s *Survey) value(c int, v float64) {
	column, m := &s.Columns[c], &s.sums[c]
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
	if s.worst == nil {
		s.worst = e
	}
	if len(s.First) < surveyFirst {
		s.First = append(s.First, e.Place()+": "+e.Reason)
	}
	return nil
}

// Bad returns the first bad value as an error, nil if there is none.
func (s *Survey) Bad() error {
	if s.worst == nil {
		return nil
	}
	return s.worst.located()
}

func (s *Survey) end() {
	for c, m := range s.sums {
		s.Columns[c].Mean, s.Columns[c].Deviation = m.mean, m.deviation()
	}
	names := make([]string, len(s.Classes))
	for i, c := range s.Classes {
		names[i] = c.Name
	}
	SortClasses(names)
	slices.SortStableFunc(s.Classes, func(a, b ClassCount) int {
		return slices.Index(names, a.Name) - slices.Index(names, b.Name)
	})
}
