package data

// The text form of LIBSVM, C.-C. Chang and C.-J. Lin, "LIBSVM: A library for
// support vector machines" (2011): one sample a line, "label index:value ...",
// indices from 1 on and rising; what is not written is 0.

import (
	"bufio"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

const (
	libsvmName  = "libsvm" // any set of the user's, in two files
	libsvmTrain = "train.libsvm"
	libsvmTest  = "test.libsvm"

	libsvmLine      = 1 << 20 // bytes, longest line
	libsvmDim       = 1 << 20 // largest index
	libsvmClasses   = 256
	libsvmDenseSize = 1 << 29 // values of a split that is kept dense
)

// libsvmReader reads sets in LIBSVM text.
type libsvmReader struct {
	name, dir string
	files     [2]string // by part
	info      Info
	values    []float64 // values[c] is the label in the file of class c, ascending
}

var _ reader = (*libsvmReader)(nil)

func (r *libsvmReader) labels(p part) ([]uint8, error) {
	var y []uint8
	err := r.scan(p, func(_ int, label uint8, _ []feature) { y = append(y, label) })
	return y, err
}

func (r *libsvmReader) fill(p part, b *builder) error {
	return r.scan(p, func(i int, label uint8, features []feature) {
		if row := b.floats(i, label); row != nil {
			for _, f := range features {
				row[f.index] = f.value
			}
		}
	})
}

// scan visits the samples of a split, checked against the set's numbers.
func (r *libsvmReader) scan(p part, visit func(i int, label uint8, features []feature)) error {
	path, err := locate(r.name, r.dir, r.files[p])
	if err != nil {
		return err
	}
	want := [...]int{r.info.Train, r.info.Test}[p]
	return withFile(path, func(c *cursor) error {
		rows, err := readLIBSVM(c, func(i int, label float64, features []feature) error {
			class, ok := slices.BinarySearch(r.values, label)
			if !ok {
				return fmt.Errorf("label %v: want one of %s", label, strings.Join(r.info.Classes, ", "))
			}
			if n := len(features); n > 0 && features[n-1].index >= r.info.Shape.C {
				return fmt.Errorf("index %d: want 1..%d", features[n-1].index+1, r.info.Shape.C)
			}
			if i >= want {
				return fmt.Errorf("the file goes on where it should end")
			}
			visit(i, uint8(class), features)
			return nil
		})
		if err == nil && rows != want {
			err = atLine(path, rows+1, "the file ends after %d rows, want %d", rows, want)
		}
		return err
	})
}

// A Form is what sets of the user's have in common. Zero values stand for what the files hold.
type Form struct {
	Features int       // of a sample; an index beyond it is an error
	Labels   []float64 // ascending; any other label is an error
}

// OpenOwn opens sets of the user's, each the two files of a folder, that are to have one form: the given one, or
// the most features and all labels of their files.
func OpenOwn(dirs []string, form Form) ([]*Source, error) {
	own := make([]*ownSet, len(dirs))
	common := form
	for i, dir := range dirs {
		own[i] = &ownSet{dir: dir, want: form, held: Form{Features: 1}}
		if err := own[i].scan(); err != nil {
			return nil, err
		}
		if form.Features == 0 {
			common.Features = max(common.Features, own[i].held.Features)
		}
		if len(form.Labels) == 0 {
			common.Labels = append(common.Labels, own[i].held.Labels...)
		}
	}
	slices.Sort(common.Labels)
	common.Labels = slices.Compact(common.Labels)
	if len(common.Labels) > libsvmClasses {
		return nil, fmt.Errorf("data: %s: more than %d different labels", strings.Join(dirs, ", "), libsvmClasses)
	}
	sources := make([]*Source, len(own))
	for i, o := range own {
		var err error
		if sources[i], err = o.source(common); err != nil {
			return nil, err
		}
	}
	return sources, nil
}

// An ownSet is a set of the user's while its form is found out.
type ownSet struct {
	dir        string
	want, held Form
	rows       [2]int // by part
}

// scan finds out what the two files hold: features, labels, rows.
func (o *ownSet) scan() error {
	for p, name := range ownFiles() {
		path, err := locate(libsvmName, o.dir, name)
		if err != nil {
			return err
		}
		err = withFile(path, func(c *cursor) (err error) {
			o.rows[p], err = readLIBSVM(c, o.see)
			return err
		})
		if err != nil {
			return err
		}
		if o.rows[p] == 0 {
			return atLine(path, 1, "the file is empty")
		}
	}
	return nil
}

func ownFiles() [2]string { return [2]string{libsvmTrain, libsvmTest} }

// see takes in one line.
func (o *ownSet) see(_ int, label float64, features []feature) error {
	if n := len(features); n > 0 {
		o.held.Features = max(o.held.Features, features[n-1].index+1)
	}
	if want := o.want.Features; want > 0 && o.held.Features > want {
		return fmt.Errorf("index %d: data.dimension allows 1..%d", o.held.Features, want)
	}
	at, found := slices.BinarySearch(o.held.Labels, label)
	switch {
	case found:
		return nil
	case len(o.want.Labels) > 0 && !slices.Contains(o.want.Labels, label):
		return fmt.Errorf("label %v: data.labels has %v", label, o.want.Labels)
	case len(o.held.Labels) == libsvmClasses:
		return fmt.Errorf("label %v: more than %d different labels", label, libsvmClasses)
	}
	o.held.Labels = slices.Insert(o.held.Labels, at, label)
	return nil
}

// source returns the set as one of a form.
func (o *ownSet) source(f Form) (*Source, error) {
	if most := max(o.rows[0], o.rows[1]); most*f.Features > libsvmDenseSize {
		return nil, fmt.Errorf("data: %s: %d and %d rows of %d features: more than %d values, too many to keep dense",
			o.dir, o.rows[0], o.rows[1], f.Features, libsvmDenseSize)
	}
	info := Info{
		Name: libsvmName, Title: "LIBSVM text", Shape: Shape{1, 1, f.Features}, Train: o.rows[0], Test: o.rows[1],
	}
	for _, v := range f.Labels {
		info.Classes = append(info.Classes, strconv.FormatFloat(v, 'g', -1, 64))
	}
	return &Source{Info: info, reader: &libsvmReader{
		name: libsvmName, dir: o.dir, files: ownFiles(), info: info, values: f.Labels,
	}}, nil
}

// A feature is one index:value pair; index counts from 0.
type feature struct {
	index int
	value float32
}

// readLIBSVM visits every line and returns how many there are. features is
// ascending and valid during the call.
func readLIBSVM(c *cursor, visit func(i int, label float64, features []feature) error) (rows int, err error) {
	lines := bufio.NewScanner(c)
	lines.Buffer(make([]byte, 0, 4096), libsvmLine)
	var features []feature
	for ; lines.Scan(); rows++ {
		label, rest := lines.Text(), ""
		if at := strings.IndexAny(label, " \t"); at >= 0 {
			label, rest = label[:at], label[at:]
		}
		value, err := strconv.ParseFloat(label, 64)
		if err != nil || math.IsNaN(value) || math.IsInf(value, 0) {
			return rows, atLine(c.file, rows+1, "label %.20q: not a number", label)
		}
		if features, err = parseFeatures(features[:0], rest); err != nil {
			return rows, atLine(c.file, rows+1, "%w", err)
		}
		if err := visit(rows, value, features); err != nil {
			return rows, atLine(c.file, rows+1, "%w", err)
		}
	}
	if err := lines.Err(); err != nil {
		return rows, atLine(c.file, rows+1, "%w", err)
	}
	return rows, nil
}

func parseFeatures(dst []feature, s string) ([]feature, error) {
	last := 0
	for pair := range strings.FieldsSeq(s) {
		left, right, ok := strings.Cut(pair, ":")
		index, err := strconv.Atoi(left)
		if !ok || err != nil || index < 1 || index > libsvmDim {
			return dst, fmt.Errorf("%.30q: want index:value with an index 1..%d", pair, libsvmDim)
		}
		if index <= last {
			return dst, fmt.Errorf("index %d after %d: indices must rise", index, last)
		}
		value, err := strconv.ParseFloat(right, 32)
		if err != nil || math.IsNaN(value) || math.IsInf(value, 0) {
			return dst, fmt.Errorf("%.30q: the value is no finite number", pair)
		}
		dst = append(dst, feature{index - 1, float32(value)})
		last = index
	}
	return dst, nil
}
