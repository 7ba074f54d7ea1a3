package data

// The text form of LIBSVM, C.-C. Chang and C.-J. Lin, "LIBSVM: A library for
// support vector machines" (2011): one sample a line, "label index:value ...". Indices rise, from 1
// or, as scikit-learn writes them, from 0. Missing values are 0. A # begins a comment.

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gossiptrainer/model/sample"
)

const (
	libsvmLine      = 1 << 26 // bytes, longest line
	libsvmDim       = 1 << 25 // largest index
	libsvmClasses   = 256
	libsvmDenseSize = 1 << 29 // values of a split that is kept dense, or values other than 0 of a sparse one
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

// a9aReader reads the set a9a.
type a9aReader struct {
	dir  string
	info Info
}

var _ reader = a9aReader{}

func (r a9aReader) labels(p part) ([]uint8, error) {
	var y []uint8
	err := r.scan(p, func(_ int, label uint8, _ []feature) { y = append(y, label) })
	return y, err
}

func (r a9aReader) fill(p part, b *builder) error {
	return r.scan(p, func(i int, label uint8, features []feature) {
		if row := b.floats(i, label); row != nil {
			for _, f := range features {
				row[f.index-1] = f.value
			}
		}
	})
}

// scan visits the samples of a split, checked against the set's numbers.
func (r a9aReader) scan(p part, visit func(i int, label uint8, features []feature)) error {
	path, err := locate(r.info.Name, r.dir, [...]string{"a9a", "a9a.t"}[p])
	if err != nil {
		return err
	}
	want := [...]int{r.info.Train, r.info.Test}[p]
	return withFile(path, func(c *cursor) error {
		rows, err := readLIBSVM(c, func(i int, l libsvmRow) error {
			class := slices.Index([]string{"-1", "1"}, l.label)
			if class < 0 {
				return fmt.Errorf("label %s: want one of %s", l.label, strings.Join(r.info.Classes, ", "))
			}
			for _, f := range l.features {
				if f.index < 1 || int(f.index) > r.info.Shape.C {
					return fmt.Errorf("index %d: want 1..%d", f.index, r.info.Shape.C)
				}
			}
			if i >= want {
				return errors.New("the file continues where it should end")
			}
			visit(i, uint8(class), l.features)
			return nil
		})
		if err == nil && rows != want {
			err = atLine(path, rows+1, "the file ends after %d rows, want %d", rows, want)
		}
		return err
	})
}

// A feature is one index:value pair.
type feature struct {
	index int32
	value float32
}

// A libsvmRow is a line. It is valid during the call that passes it.
type libsvmRow struct {
	line     int    // of the file, from 1
	label    string // a number, in the form of numberLabel
	query    bool   // it has a qid
	features []feature
}

// readLIBSVM visits every line with a sample and returns how many there are.
func readLIBSVM(c *cursor, visit func(i int, row libsvmRow) error) (rows int, err error) {
	return readCommented(c, func(string) {}, visit)
}

// readCommented is readLIBSVM that also passes the comments.
func readCommented(c *cursor, comment func(text string), visit func(i int, row libsvmRow) error) (rows int, err error) {
	lines := bufio.NewScanner(c)
	lines.Buffer(make([]byte, 0, 4096), libsvmLine)
	var row libsvmRow
	for lines.Scan() {
		row.line++
		text, note, commented := strings.Cut(lines.Text(), "#")
		if commented {
			comment(note)
		}
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		if err := row.parse(text); err != nil {
			return rows, atLine(c.file, row.line, "%w", err)
		}
		if err := visit(rows, row); err != nil {
			return rows, atLine(c.file, row.line, "%w", err)
		}
		rows++
	}
	if err := lines.Err(); err != nil {
		return rows, atLine(c.file, row.line+1, "%w", err)
	}
	return rows, nil
}

// parse reads a line without blanks around it.
func (r *libsvmRow) parse(line string) error {
	label, rest := line, ""
	if at := strings.IndexAny(line, " \t"); at >= 0 {
		label, rest = line[:at], line[at:]
	}
	value, err := strconv.ParseFloat(label, 64)
	switch short, whole := wholeNumber(label); {
	case strings.Contains(label, ","):
		return fmt.Errorf("label %.20q: several labels of a sample: want one", label)
	case err != nil || math.IsNaN(value) || math.IsInf(value, 0):
		return fmt.Errorf("label %.20q: not a number", label)
	case whole:
		r.label = short
	default:
		r.label = numberLabel(value)
	}
	r.features, r.query = r.features[:0], false
	last := int32(-1)
	for pair := range strings.FieldsSeq(rest) {
		left, right, ok := strings.Cut(pair, ":")
		if left == "qid" && ok && len(r.features) == 0 && !r.query {
			r.query = true
			continue
		}
		index, err := strconv.Atoi(left)
		if !ok || err != nil || index < 0 || index > libsvmDim {
			return fmt.Errorf("%.30q: want index:value with an index 0..%d", pair, libsvmDim)
		}
		if int32(index) <= last {
			return fmt.Errorf("index %d after %d: indices must rise", index, last)
		}
		value, err := strconv.ParseFloat(right, 32)
		if err != nil || math.IsNaN(value) || math.IsInf(value, 0) {
			return fmt.Errorf("%.30q: the value is no finite number", pair)
		}
		last = int32(index)
		r.features = append(r.features, feature{last, float32(value)})
	}
	return nil
}
