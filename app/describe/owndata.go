package describe

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"gossiptrainer/configs"
	"gossiptrainer/internal/data"
	"gossiptrainer/internal/experiment"
	"gossiptrainer/internal/human"
	"gossiptrainer/internal/shards"
)

// OwnFile returns the settings, as in --set, of a run that learns from a file of the user.
func OwnFile(path string) []string {
	return []string{"data.name=file", "data.path=" + strconv.Quote(path)}
}

// A DataCheck is the result of "data check".
type DataCheck struct {
	Files []*data.Survey `json:"files"`
	Train int            `json:"train,omitempty"` // rows, of the first set where each worker has files of its own
	Test  int            `json:"test,omitempty"`
	Split *Split         `json:"split,omitempty"` // nil: the files cannot be used
	Notes []string       `json:"notes,omitempty"`

	Standardise bool `json:"standardise"` // the columns differ so much that data.standardise: true helps
}

// CheckData describes the files of a run with data of the user, and how its workers would divide them. The error says
// why no run can use the files; the check then has what could be read.
func CheckData(loaded *configs.Loaded) (*DataCheck, error) {
	cfg := loaded.Config
	check := &DataCheck{Files: []*data.Survey{}}
	if cfg.Data.Name != "file" || !cfg.LearnsFromData() {
		return check, loaded.Locate(configs.Errorf("data.name", "data check is for runs that learn from a file of your own"))
	}
	ranks := 1
	if cfg.Data.PerRank() {
		ranks = cfg.Topology.Size
	}
	for rank := range ranks {
		files, err := data.SurveyFiles(shards.FileSpec(cfg.Data.OfRank(rank)))
		check.Files = append(check.Files, files...)
		if err != nil {
			return check, err
		}
	}
	check.told()
	for _, f := range check.Files {
		if err := f.Bad(); err != nil {
			return check, err
		}
		check.note(f, cfg)
	}
	return check, check.divide(loaded)
}

// told adds the notes of all files.
func (d *DataCheck) told() {
	var all []data.Note
	for _, f := range d.Files {
		all = append(all, f.Notes...)
	}
	quiet, loud := data.Sentences(all)
	d.Notes = append(append(d.Notes, loud...), quiet...)
}

// divide adds the split. The batch of the run file may be too large for it, which is noted.
func (d *DataCheck) divide(loaded *configs.Loaded) error {
	cfg := loaded.Config
	cfg.Train.Batch = 1
	run, err := experiment.New(cfg)
	if err != nil {
		return loaded.Locate(err)
	}
	if d.Split, err = NewSplit(run); err != nil {
		return loaded.Locate(err)
	}
	for _, note := range append(run.Warnings(), run.Notes()...) {
		if !slices.Contains(d.Notes, note) {
			d.Notes = append(d.Notes, note)
		}
	}
	info := run.Data().Info()
	d.Train, d.Test = info.Train, info.Test
	least := slices.Min(d.Split.Sizes)
	if batch := loaded.Config.Train.Batch; batch > least {
		d.Notes = append(d.Notes, fmt.Sprintf("a worker has %s, fewer than train.batch: %d",
			human.Count(least, "row"), batch))
	}
	return nil
}

// note adds what a user may want to change.
func (d *DataCheck) note(f *data.Survey, cfg configs.Config) {
	least, most, constant := 0., 0., 0
	for _, c := range f.Columns {
		switch {
		case c.Deviation == 0:
			constant++
		case least == 0:
			least, most = c.Deviation, c.Deviation
		default:
			least, most = min(least, c.Deviation), max(most, c.Deviation)
		}
	}
	add := func(format string, args ...any) {
		d.Notes = append(d.Notes, f.File+": "+fmt.Sprintf(format, args...))
	}
	const apart = 100
	if most > apart*least && !cfg.Data.Standardise && cfg.Data.Partition != "local" {
		d.Standardise = true
		add("the deviations of columns differ by a factor of %.0f: data.standardise: true helps training", most/least)
	}
	if constant > 0 && constant < len(f.Columns) {
		add("%s one value only", human.Count(constant, "column")+" "+human.Verb(constant, "has", "have"))
	}
	if n := len(f.Classes); n > 10 && f.Rows < 5*n {
		add("%d classes for %d rows: is %s the column of the classes?", n, f.Rows, f.Label)
	}
}

// Write prints the check for people.
func (d *DataCheck) Write(w io.Writer) error {
	for _, f := range d.Files {
		writeSurvey(w, f)
	}
	for _, note := range d.Notes {
		fmt.Fprintf(w, "note      %s\n", note)
	}
	if len(d.Notes) > 0 {
		fmt.Fprintln(w)
	}
	if d.Split == nil {
		return nil
	}
	fmt.Fprintf(w, "split     %s to train on, %s to test on; by worker:\n",
		human.Count(d.Train, "row"), human.Count(d.Test, "row"))
	return d.Split.Write(w)
}

// The first columns, classes and bad values are printed.
const (
	shownColumns = 20
	shownClasses = 20
)

func writeSurvey(w io.Writer, f *data.Survey) {
	fmt.Fprintf(w, "file      %s\nformat    %s\nrows      %d\n", f.File, f.Format, f.Rows)
	shape := human.Count(f.Shape.Features(), "value")
	if f.Shape.H > 1 || f.Shape.W > 1 {
		shape = fmt.Sprintf("picture of %dx%dx%d", f.Shape.H, f.Shape.W, f.Shape.C)
	}
	fmt.Fprintf(w, "sample    %s\nlabel     %s\nclasses   %d", shape, f.Label, len(f.Classes))
	for i, c := range f.Classes {
		if i == shownClasses {
			fmt.Fprintf(w, ", and %d more", len(f.Classes)-i)
			break
		}
		separator := ", "
		if i == 0 {
			separator = ": "
		}
		fmt.Fprintf(w, "%s%s (%d)", separator, clean(c.Name), c.Rows)
	}
	fmt.Fprintf(w, "\nmissing   %s", human.Count(f.Missing, "value"))
	if f.Wrong > 0 {
		fmt.Fprintf(w, "; %s not finite numbers", human.Count(f.Wrong, "value"))
	}
	fmt.Fprintln(w)
	more := f.Missing + f.Wrong
	for _, complaint := range f.First {
		fmt.Fprintf(w, "          %s\n", complaint)
		more -= complaint.Values
	}
	if more > 0 {
		fmt.Fprintf(w, "          and %d more\n", more)
	}
	writeColumns(w, f.Columns)
}

func writeColumns(w io.Writer, columns []data.ColumnSurvey) {
	t := human.AlignLeft(w)
	fmt.Fprintln(t, "  VALUE\tLEAST\tMOST\tMEAN\tDEVIATION")
	for i, c := range columns {
		if i == shownColumns {
			break
		}
		fmt.Fprintf(t, "  %s\t%.4g\t%.4g\t%.4g\t%.4g\n", clean(c.Name), c.Least, c.Most, c.Mean, c.Deviation)
	}
	_ = t.Flush() // errors of w come back from the last write
	if more := len(columns) - shownColumns; more > 0 {
		fmt.Fprintf(w, "  and %d more\n", more)
	}
	fmt.Fprintln(w)
}

// clean makes a name from a file safe for a terminal and a table.
func clean(name string) string {
	const most = 40
	safe := strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return '?'
		}
		return r
	}, name)
	if runes := []rune(safe); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return safe
}
