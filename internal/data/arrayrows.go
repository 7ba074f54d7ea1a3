package data

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"gossiptrainer/model/sample"
)

// arrayRows are samples of an array with their labels: in another array, or in a column of that array.
type arrayRows struct {
	x      *array
	y      *array // nil: column chosen.label of x, if there are labels
	chosen selection
	absent Absence
	made   form
	planes int // channels of pictures that lie one after the other; 0: values are in order
}

var _ rows = (*arrayRows)(nil)

// pairArrays makes rows of two arrays, or of one with a column of labels if y is nil.
func pairArrays(x, y *array, c Columns) (*arrayRows, error) {
	t := &arrayRows{x: x, y: y, absent: c.Missing}
	if x.element.isText() {
		return nil, atOffset(x.name, 0, "values are texts: want numbers")
	}
	if y == nil && c.NoLabel && len(x.dims) != 2 {
		t.made = form{format: x.describe(), pixels: x.element.kind == 'u' && x.element.size == 1}
		return t, t.shapeSamples()
	}
	if y == nil {
		if len(x.dims) != 2 || x.dims[1] < 2 && !c.NoLabel {
			return nil, atOffset(x.name, 0, "an array of shape %v has no labels: name their file with data.label, "+
				"or save both in one .npz as X and y", x.dims)
		}
		var err error
		if t.chosen, err = c.choose(nil, x.dims[1], nil); err != nil {
			return nil, atOffset(x.name, 0, "%w", err)
		}
		t.made = t.chosen.tableForm(x.describe(), nil)
		return t, nil
	}
	switch {
	case len(c.Skip) > 0:
		return nil, atOffset(x.name, 0, "data.skip is for columns of a table: the labels are in %s", y.name)
	case !y.isLabels():
		return nil, atOffset(y.name, 0, "labels of shape %v: want one per sample; of one-hot labels save y.argmax(1)",
			y.dims)
	case x.samples() != y.samples():
		return nil, atOffset(y.name, 0, "%d labels for %d samples in %s", y.samples(), x.samples(), x.name)
	}
	t.made = form{format: x.describe(), label: filepath.Base(y.name), pixels: x.element.kind == 'u' && x.element.size == 1}
	return t, t.shapeSamples()
}

// shapeSamples finds the shape of samples: numbers in a row, or a picture with its channels last or first.
func (t *arrayRows) shapeSamples() error {
	d := t.x.dims
	switch {
	case len(d) <= 2:
		t.made.pixels = false
		t.made.shape = sample.Shape{H: 1, W: 1, C: t.x.perSample()}
		for k := range t.made.shape.C {
			t.made.columns = append(t.made.columns, strconv.Itoa(k+1))
		}
	case len(d) == 3:
		t.made.shape = sample.Shape{H: d[1], W: d[2], C: 1}
	case len(d) == 4 && d[3] <= 4:
		t.made.shape = sample.Shape{H: d[1], W: d[2], C: d[3]}
	case len(d) == 4 && d[1] <= 4:
		t.made.shape = sample.Shape{H: d[2], W: d[3], C: d[1]}
		if d[1] > 1 {
			t.planes = d[1]
		}
		t.made.format += ", channels first"
	default:
		return atOffset(t.x.name, 0, "an array of shape %v: want samples x values, samples x height x width, or "+
			"this with 1 to 4 channels first or last", d)
	}
	return nil
}

func (t *arrayRows) form() form   { return t.made }
func (t *arrayRows) file() string { return t.x.name }

func (t *arrayRows) scan(see func(int, record) error, judge func(*CellError) error) error {
	labels, err := t.labels(judge)
	if err != nil {
		return err
	}
	features := t.made.shape.Features()
	out := record{floats: make([]float32, features), wide: make([]float64, features)}
	if t.made.pixels {
		out = record{bytes: make([]uint8, features)}
	}
	return t.x.visit(func(i int, raw []byte) error {
		bad := func(at int, reason string) error {
			return judge(&CellError{File: t.x.name, Row: i + 1, Column: strconv.Itoa(at + 1),
				Missing: reason == missingCell || reason == noLabel, Reason: reason})
		}
		switch {
		case t.y != nil:
			out.label = labels[i]
		case t.chosen.features != nil && t.chosen.label >= 0:
			at, size := t.chosen.label, t.x.element.size
			if out.label = t.x.element.label(raw[at*size:], t.absent); out.label == "" {
				if err := bad(at, noLabel); err != nil {
					return err
				}
			}
		}
		if err := t.values(out, raw, bad); err != nil {
			return err
		}
		if err := see(i, out); err != nil {
			return &FormatError{t.x.name, fmt.Sprintf("row %d", i+1), err}
		}
		return nil
	})
}

// labels reads the array of labels, if there is one.
func (t *arrayRows) labels(judge func(*CellError) error) ([]string, error) {
	if t.y == nil {
		return nil, nil
	}
	var labels []string
	known := map[string]string{} // one copy of each
	err := t.y.visit(func(i int, raw []byte) error {
		label := t.y.element.label(raw, t.absent)
		if label == "" {
			if err := judge(&CellError{File: t.y.name, Row: i + 1, Column: "1", Missing: true, Reason: noLabel}); err != nil {
				return err
			}
		}
		if _, ok := known[label]; !ok && len(known) <= libsvmClasses {
			known[label] = label
		}
		if one, ok := known[label]; ok {
			label = one
		}
		labels = append(labels, label)
		return nil
	})
	return labels, err
}

// values decodes a sample into the memory of out.
func (t *arrayRows) values(out record, raw []byte, bad func(at int, reason string) error) error {
	if t.made.pixels {
		for k := range out.bytes {
			out.bytes[k] = raw[t.source(k)]
		}
		return nil
	}
	size := t.x.element.size
	for k := range out.floats {
		at := t.source(k)
		if t.chosen.features != nil {
			at = t.chosen.features[k]
		}
		var reason string
		out.wide[k] = t.x.element.value(raw[at*size : (at+1)*size])
		out.floats[k], reason = narrow(out.wide[k])
		if reason == "" {
			continue
		}
		if err := bad(at, reason); err != nil {
			return err
		}
	}
	return nil
}

// source returns the place in the file of value k of a sample.
func (t *arrayRows) source(k int) int {
	if t.planes == 0 {
		return k
	}
	area := t.made.shape.H * t.made.shape.W
	return k%t.planes*area + k/t.planes
}

// openArray opens a file that holds one array, and the file of its labels.
func openArray(path string, c Columns, read func(string) (*array, error)) (rows, error) {
	if len(c.Features) > 0 && c.Label == "" {
		c.Label = "-1"
	}
	x, err := read(path)
	if err != nil {
		return nil, err
	}
	if _, err := strconv.Atoi(c.Label); c.NoLabel || err == nil && c.Label != "" {
		return pairArrays(x, nil, c)
	}
	file, err := labelsBeside(path, c.Label)
	if err != nil {
		return nil, err
	}
	if file == "" {
		return pairArrays(x, nil, c)
	}
	y, err := openLabels(file)
	if err != nil {
		return nil, err
	}
	if len(c.Features) > 0 {
		return nil, atOffset(path, 0, "data.features is for columns of a table: the labels are in %s", file)
	}
	return pairArrays(x, y, c)
}

// openLabels opens an array of labels in either format.
func openLabels(path string) (*array, error) {
	f, err := sniff(path)
	switch {
	case err != nil:
		return nil, err
	case f.array == nil:
		return nil, atOffset(path, 0, "%s holds no labels as .npy or IDX do", f.name)
	}
	return f.array(path)
}

// labelsBeside returns the file of labels for a file of samples, "" if there is none. It lies in the same folder and
// has the given name, or that of the samples with labels for images, or y for x.
func labelsBeside(path, name string) (string, error) {
	dir, base := filepath.Split(path)
	if name != "" {
		file := filepath.Join(dir, name)
		if _, err := os.Stat(file); err != nil {
			return "", &MissingError{Set: fileName, File: name, Dir: dir}
		}
		return file, nil
	}
	idx := regexp.MustCompile(`idx[0-9]`)
	for _, pair := range [...][2]string{{"images", "labels"}, {"features", "labels"}, {"data", "labels"}, {"X", "y"},
		{"x", "y"}} {
		other := idx.ReplaceAllString(strings.Replace(base, pair[0], pair[1], 1), "idx1")
		if strings.Contains(base, "idx") && len(pair[0]) == 1 {
			continue // the x of idx
		}
		for _, try := range []string{other, strings.TrimSuffix(other, ".gz"), other + ".gz"} {
			if try == base {
				continue
			}
			if info, err := os.Stat(filepath.Join(dir, try)); err == nil && info.Mode().IsRegular() {
				return filepath.Join(dir, try), nil
			}
		}
	}
	return "", nil
}
