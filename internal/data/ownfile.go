package data

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gossiptrainer/internal/rng"
)

// A FileSpec names files of the user and how they are read.
type FileSpec struct {
	Set         string  // name of the set; "": that of the file
	AnyNumber   bool    // labels may be numbers that are not whole
	Path, Test  string  // files, or folders of pictures; Test "": a share of Path, or the test arrays of an .npz
	TestShare   float64 // of the rows of Path, drawn at random but always the same, where there is no test file
	Columns     Columns
	Standardise bool     // subtract mean and divide by deviation of the train split, by column or channel
	Indices     string   // of LIBSVM text: ZeroBased or OneBased; else as the files show
	Features    int      // of a sample; 0 = as the files have
	Classes     []string // in order; empty = those of the files
	Trained     *Trained // the model that reads the files; nil: a new one
}

// testDomain addresses the random numbers that choose test rows. They do not change with the seed of a run, because no
// data set does.
const testDomain = 0x7465737420726f77 // "test row"

var errChanged = errors.New("the file has changed while it was read")

// A userSet is one set of the user while its form is determined.
type userSet struct {
	spec    FileSpec
	files   []rows                    // train and test, or one that is split
	names   func(label string) string // of classes, where the run file names them all
	forms   map[string]bool           // of the labels, by wholeNumber
	tallies []tally                   // by file
	y       [][]uint16                // by file and row: position in the tally
	watches []*watch                  // by file
	notes   []Note
}

// OpenFiles opens sets of the user, which get one form: classes and features of all. It reads the files: it returns
// *MissingError if there is none, *FormatError with row and column for a value that is missing or no finite number.
func OpenFiles(specs []FileSpec) ([]*Source, error) {
	specs = slices.Clone(specs)
	sets := make([]*userSet, len(specs))
	for i := range specs {
		spec, err := specs[i].fit()
		if err != nil {
			return nil, err
		}
		specs[i] = spec
		sets[i] = &userSet{spec: spec, names: naming(spec.Classes), forms: map[string]bool{}}
		if err := sets[i].open(); err != nil {
			return nil, err
		}
	}
	if err := agree(sets); err != nil {
		return nil, err
	}
	texts := specs[0].Classes
	for _, s := range sets {
		if err := s.scan(); err != nil {
			return nil, err
		}
		for _, t := range s.tallies {
			if len(specs[0].Classes) == 0 {
				texts = append(texts, t.texts...)
			}
		}
	}
	name := naming(texts)
	classes, err := sets[0].settleClasses(ClassNames(texts))
	if err != nil {
		return nil, err
	}
	sources := make([]*Source, len(sets))
	for i, s := range sets {
		if sources[i], err = s.source(classes, name); err != nil {
			return nil, err
		}
	}
	return sources, nil
}

// open finds the files of the set.
func (s *userSet) open() error {
	train, err := openRows(s.spec.Path, s.spec.Columns, trainPart)
	if err != nil {
		return err
	}
	s.files = []rows{train}
	test := s.spec.Test
	if test == "" && holdsTest(s.spec.Path, s.spec.Columns) {
		test = s.spec.Path
	}
	if test == "" {
		return nil
	}
	columns := s.spec.Columns
	if t, ok := train.(*csvRows); ok && t.chosen.values != nil { // the texts to test on are those to train on
		columns.Features, columns.Skip = t.form().columns, nil
	}
	held, err := openRows(test, columns, testPart)
	s.files = append(s.files, held)
	return err
}

// agree checks that all files have one form. Files in LIBSVM text get the indices of all.
func agree(sets []*userSet) error {
	spec := sets[0].spec
	var all []rows
	for _, s := range sets {
		all = append(all, s.files...)
	}
	if err := settleSparse(all, spec); err != nil {
		return err
	}
	first := all[0].form()
	for _, s := range sets[1:] {
		if err := checkColumns(s.files[0].file(), s.files[0].form(), first); err != nil {
			return err
		}
	}
	for k, f := range all {
		if err := spec.Trained.check(f); err != nil {
			return err
		}
		other := f.form()
		if n := other.shape.Features(); spec.Features > 0 && n != spec.Features {
			return atFile(f.file(), "%d values in a sample, but data.dimension is %d", n, spec.Features)
		}
		if other.shape != first.shape || other.pixels != first.pixels {
			return atFile(f.file(), "samples of %s (%s), but the first file has %s (%s)", shapeText(other), other.format,
				shapeText(first), first.format)
		}
		for c := range other.columns {
			if k > 0 && other.named && first.named && other.columns[c] != first.columns[c] {
				return atFile(f.file(), "value %d is %s, but %s in the first file: order the columns alike", c+1,
					other.columns[c], first.columns[c])
			}
		}
	}
	return nil
}

// checkColumns refuses the file of a worker whose columns cannot be compared with those of the first worker.
func checkColumns(file string, f, first form) error {
	switch {
	case f.sparse != first.sparse:
		return atFile(file, "samples are in %s, but those of the first file in %s: write both in one format", f.format,
			first.format)
	case f.named && !first.named:
		return atFile(file, "the file has names of columns, but the first file has none: write the same first line into both")
	case !f.named && first.named:
		return atFile(file, "the file has no names of columns, but the first file has some: write the same first line into "+
			"both")
	case f.byName != first.byName:
		return atFile(file, "the label column is %q, but %q in the first file: name it alike", f.byName, first.byName)
	}
	return nil
}

// shapeText writes the shape of a sample: 28x28x1 or 4.
func shapeText(f form) string {
	if f.shape.H == 1 && f.shape.W == 1 {
		return strconv.Itoa(f.shape.C)
	}
	return fmt.Sprintf("%dx%dx%d", f.shape.H, f.shape.W, f.shape.C)
}

// scan reads the labels of all files, and checks all values.
func (s *userSet) scan() error {
	s.y, s.tallies = make([][]uint16, len(s.files)), make([]tally, len(s.files))
	for k, f := range s.files {
		w, values := newWatch(f.form()), 0
		err := f.scan(func(i int, r record) error {
			if values += r.values(); values > libsvmDenseSize {
				return fmt.Errorf("%d rows and %d values: want at most %d values in a file", i+1, values, libsvmDenseSize)
			}
			at, err := s.label(k, r.label)
			s.y[k] = append(s.y[k], at)
			w.see(r)
			return err
		}, strict)
		if err != nil {
			return err
		}
		s.notes = append(append(s.notes, notesOf(f)...), s.spec.Trained.notes(f, s.spec.Standardise)...)
		s.watches, s.notes = append(s.watches, w), append(s.notes, w.notes(f, s.spec.Columns)...)
		if len(s.y[k]) == 0 {
			return atFile(f.file(), "the file has no samples")
		}
		if err := s.spec.Trained.checkLabels(f.file(), s.tallies[k], s.names, s.spec.Classes); err != nil {
			return err
		}
	}
	if len(s.files) > 1 {
		return nil
	}
	rows, labels := len(s.y[0]), len(s.tallies[0].texts)
	switch {
	case rows < 2:
		return atFile(s.files[0].file(), "one sample cannot be split: want at least 2, or a file of its own as data.test")
	case rows >= idRows && 10*labels > 9*rows && s.spec.Trained == nil && s.files[0].form().columns != nil:
		return atFile(s.files[0].file(), "%w", labelErrorf("%d rows have %d different labels, as ids have: name the column "+
			"of the classes with data.label", rows, labels))
	}
	return nil
}

// idRows is the number of rows from which labels that nearly all differ are ids.
const idRows = 10

// A LabelError says that labels name no classes: another column may have the classes.
type LabelError struct{ error }

func labelErrorf(format string, args ...any) error { return &LabelError{fmt.Errorf(format, args...)} }

// ColumnNames returns the names of the columns of a CSV file, nil without names and for other files.
func ColumnNames(path string) []string {
	if f, err := sniff(path); err != nil || f.name != formatCSV {
		return nil
	}
	t, err := openCSV(path, Columns{})
	if err != nil {
		return nil
	}
	return t.names
}

// label returns the position of a label in the tally of a file.
func (s *userSet) label(file int, text string) (uint16, error) {
	t := &s.tallies[file]
	if _, known := t.at[text]; known {
		return uint16(t.add(text)), nil
	}
	if want := s.spec.Classes; len(want) > 0 && !s.spec.Trained.said() && !slices.Contains(want, s.names(text)) {
		return 0, fmt.Errorf("label %.40q: data.labels has %s", text, several(want))
	}
	short, whole := wholeNumber(text)
	if !whole {
		short = text
	}
	if v, err := strconv.ParseFloat(text, 64); err == nil && v != math.Trunc(v) && !s.spec.AnyNumber {
		return 0, labelErrorf("label %s is no whole number: models classify and learn no regression targets; "+
			"name the column of the classes with data.label, or round its values", text)
	}
	if s.forms[strings.Clone(short)] = true; len(s.forms) > libsvmClasses || len(t.texts) > math.MaxUint16 {
		return 0, labelErrorf("label %.40q: more than %d different labels: models classify and learn no regression "+
			"targets; name the column of the classes with data.label", text, libsvmClasses)
	}
	return uint16(t.add(text)), nil
}

// settleClasses returns the classes in order, each once.
func (s *userSet) settleClasses(classes []string) ([]string, error) {
	if len(s.spec.Classes) > 0 {
		return s.spec.Classes, nil
	}
	remedy := "name another column with data.label"
	if _, isFolder := s.files[0].(*imageFolder); isFolder {
		remedy = "add a folder with the pictures of another class"
	}
	SortClasses(classes)
	classes = slices.Compact(classes)
	switch {
	case len(classes) > libsvmClasses:
		return nil, atFile(s.spec.Path, "more than %d different labels in all files", libsvmClasses)
	case len(classes) == 1:
		return nil, atFile(s.spec.Path, "all samples have the label %.40q, so there is nothing to learn: %s, or name all "+
			"classes with data.labels if other machines have more", classes[0], remedy)
	}
	return classes, nil
}

// source returns the set with these classes, and the name of the class for each label.
func (s *userSet) source(classes []string, name func(label string) string) (*Source, error) {
	f := s.files[0].form()
	r := &fileReader{files: s.files, where: make([][]int32, len(s.files))}
	y := make([][]uint8, len(s.files))
	for k, t := range s.tallies {
		s.notes = append(s.notes, t.notes(s.files[k].file(), name, s.spec.Columns.Missing)...)
		class := make([]uint8, len(t.texts))
		for at, text := range t.texts {
			class[at] = uint8(slices.Index(classes, name(text)))
		}
		y[k], r.where[k] = make([]uint8, len(s.y[k])), make([]int32, len(s.y[k]))
		for i, at := range s.y[k] {
			y[k][i], r.where[k][i] = class[at], int32(i)
		}
	}
	s.y = nil
	r.y = [2][]uint8{y[0], y[len(y)-1]}
	if len(s.files) == 1 {
		r.split(y[0], s.spec.TestShare)
	}
	r.info = Info{
		Name: filepath.Base(s.spec.Path), Title: f.format, Shape: f.shape, Classes: classes,
		Train: len(r.y[trainPart]), Test: len(r.y[testPart]),
	}
	if s.spec.Set != "" {
		r.info.Name = s.spec.Set
	}
	if r.info.Table = (Table{Label: f.byName, First: f.first}); f.named {
		r.info.Table.Columns = f.columns
	}
	if t, ok := s.files[0].(*sparseRows); ok {
		r.info.Sparse = t.average
	}
	if r.info.Pixels = f.pixels; f.pixels {
		r.info.Norm = plainPixels(f.shape.C)
	}
	var err error
	switch {
	case s.spec.Trained != nil:
		r.info.Norm, err = s.spec.Trained.scale(r.info, s.spec.Standardise)
	case s.spec.Standardise:
		err = r.standardise()
	}
	if err != nil {
		return nil, err
	}
	s.addMerges(r.info.Norm)
	return &Source{Info: r.info, Notes: s.notes, reader: r}, nil
}

// addMerges notes the columns whose values are merged, unless the set is standardised with 64 bits.
func (s *userSet) addMerges(n *Normalization) {
	for k, w := range s.watches {
		for _, m := range w.merges() {
			if n == nil || !n.fine(m.column) {
				s.notes = append(s.notes, w.merged(s.files[k].file(), m))
			}
		}
	}
	s.watches = nil
}

// plainPixels maps bytes to 0..1.
func plainPixels(channels int) *Normalization {
	n := &Normalization{Scale: 255, Mean: make([]float64, channels), Std: make([]float64, channels)}
	for c := range n.Std {
		n.Std[c] = 1
	}
	return n
}

// split draws the test rows of a file that holds both parts. Both parts keep the order of the file.
func (r *fileReader) split(y []uint8, share float64) {
	order := make([]int, len(y))
	for i := range order {
		order[i] = i
	}
	rng.Shuffle(order, rng.At(rng.Stream(testDomain, 0), 0))
	tests := min(max(int(math.Round(share*float64(len(y)))), 1), len(y)-1)
	r.where[0] = make([]int32, len(y))
	for _, i := range order[:tests] {
		r.where[0][i] = -1
	}
	r.y = [2][]uint8{}
	for i, label := range y {
		if r.where[0][i] < 0 {
			r.where[0][i] = ^int32(len(r.y[testPart]))
			r.y[testPart] = append(r.y[testPart], label)
		} else {
			r.where[0][i] = int32(len(r.y[trainPart]))
			r.y[trainPart] = append(r.y[trainPart], label)
		}
	}
}
