package data

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gossiptrainer/model/sample"
)

// A Form is the common form of a user's sets. Zero values stand for the values in the files.
type Form struct {
	Features int       // of a sample; an index beyond it is an error
	Labels   []float64 // ascending; any other label is an error
}

// OpenOwn opens the user's own sets, each from the two files of a folder. All get one form: the given one, or the most
// features and all labels of their files.
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

// An ownSet is a set of the user while its form is determined.
type ownSet struct {
	dir        string
	want, held Form
	rows       [2]int // by part
}

// scan determines features, labels and rows of the two files.
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

// source returns the set in a form.
func (o *ownSet) source(f Form) (*Source, error) {
	if most := max(o.rows[0], o.rows[1]); most*f.Features > libsvmDenseSize {
		return nil, fmt.Errorf("data: %s: %d and %d rows of %d features: more than %d values, too many to keep dense",
			o.dir, o.rows[0], o.rows[1], f.Features, libsvmDenseSize)
	}
	info := Info{
		Name: libsvmName, Title: "LIBSVM text", Shape: sample.Shape{H: 1, W: 1, C: f.Features},
		Train: o.rows[0], Test: o.rows[1],
	}
	for _, v := range f.Labels {
		info.Classes = append(info.Classes, strconv.FormatFloat(v, 'g', -1, 64))
	}
	return &Source{Info: info, reader: &libsvmReader{
		name: libsvmName, dir: o.dir, files: ownFiles(), info: info, values: f.Labels,
	}}, nil
}
