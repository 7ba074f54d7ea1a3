package data

// The text form of LIBSVM, C.-C. Chang and C.-J. Lin, "LIBSVM: A library for
// support vector machines" (2011): one sample a line, "label index:value ...". Indices begin
// at 1 and rise. Missing values are 0.

import (
	"bufio"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gossiptrainer/model/sample"
)

const (
	libsvmLine      = 1 << 20 // bytes, longest line
	libsvmDim       = 1 << 20 // largest index
	libsvmClasses   = 256
	libsvmDenseSize = 1 << 29 // values of a split that is kept dense
)

func a9aInfo() Info {
	i := Info{
		Name: "a9a", Title: "UCI Adult, binarised",
		Home:  "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary.html",
		Terms: "CC BY 4.0 (Adult: B. Becker and R. Kohavi, UCI Machine Learning Repository)",
		Shape: sample.Shape{H: 1, W: 1, C: 123}, Classes: []string{"-1", "+1"}, Train: 32_561, Test: 16_281,
		Files: []File{
			file("a9a", 2_329_875, "f5d5ffd8d865ff41328e7ee043e4b020816914ff6843ff15b98905ddbedce906"),
			file("a9a.t", 1_164_628, "1f448a153f0320399a7e40836eb207655b0bde0f21fc941cc472193daa9f5de9"),
		},
	}
	return i.from("https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/")
}

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
				return fmt.Errorf("the file continues where it should end")
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
