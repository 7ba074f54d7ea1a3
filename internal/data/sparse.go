package data

import (
	"strings"

	"gossiptrainer/model/sample"
)

// Values of data.indices.
const (
	ZeroBased = "zero-based"
	OneBased  = "one-based"
)

// sparseRows are the rows of a file in LIBSVM text. Missing values are 0.
type sparseRows struct {
	path     string
	first    int  // index of the first value, 0 or 1
	last     int  // index of the last value, the largest of the file or more
	zero     bool // an index is 0, or a comment says that they begin there
	queries  bool // samples have a qid
	lastLine int  // where the largest index is
	rows     int
	values   int    // pairs in the file
	behind   string // a note on bytes that were left at the end
	average  int    // pairs of a sample in all files of a run, rounded up; 0: samples are kept dense
}

var _ rows = (*sparseRows)(nil)

// openSparse reads the file for its indices.
func openSparse(path string, c Columns) (*sparseRows, error) {
	if c.Label != "" || len(c.Features) > 0 || len(c.Skip) > 0 {
		return nil, atFile(path, "LIBSVM text has no columns: data.label, data.features and data.skip do not apply")
	}
	t := &sparseRows{path: path, first: 1}
	err := withFile(path, func(cur *cursor) error {
		var err error
		t.rows, err = readCommented(cur, func(comment string) {
			t.zero = t.zero || strings.Contains(comment, "indices are zero-based")
		}, func(_ int, row libsvmRow) error {
			t.queries = t.queries || row.query
			t.values += len(row.features)
			if n := len(row.features); n > 0 {
				t.zero = t.zero || row.features[0].index == 0
				if last := int(row.features[n-1].index); last > t.last {
					t.last, t.lastLine = last, row.line
				}
			}
			return nil
		})
		t.behind = cur.behind()
		return err
	})
	if t.zero {
		t.first = 0
	}
	return t, err
}

func (t *sparseRows) file() string { return t.path }

func (t *sparseRows) form() form {
	first := t.first
	made := form{format: "LIBSVM", label: "the first field", sparse: true, first: &first,
		shape: sample.Shape{H: 1, W: 1, C: max(1, t.last-t.first+1)}}
	if t.first == 0 {
		made.notes = append(made.notes, "indices begin with 0")
	}
	if t.behind != "" {
		made.notes = append(made.notes, t.behind)
	}
	if t.queries {
		made.notes = append(made.notes, "qid fields are not read: samples are classified one by one")
	}
	return made
}

func (t *sparseRows) scan(see func(int, record) error, _ func(*CellError) error) error {
	return withFile(t.path, func(cur *cursor) error {
		_, err := readLIBSVM(cur, func(i int, row libsvmRow) error {
			for k, f := range row.features {
				if int(f.index) < t.first || int(f.index) > t.last {
					return errChanged
				}
				row.features[k].index -= int32(t.first)
			}
			return see(i, record{label: row.label, sparse: row.features})
		})
		return err
	})
}

// settleSparse gives all LIBSVM files of a run the same first and last index: those of the run file, else those of all
// files. Where one has an index 0, it is the first. Samples are kept dense if half of their values are there.
func settleSparse(files []rows, spec FileSpec) error {
	var all []*sparseRows
	for _, f := range files {
		if t, ok := f.(*sparseRows); ok {
			all = append(all, t)
		}
	}
	first, last, samples, values := 1, 0, 0, 0
	if spec.Indices == ZeroBased {
		first = 0
	}
	for _, t := range all {
		switch {
		case t.zero && spec.Indices == OneBased:
			return atFile(t.path, "indices begin with 0, but data.indices is %s", OneBased)
		case t.zero:
			first = 0
		}
		last, samples, values = max(last, t.last), samples+t.rows, values+t.values
	}
	if want := spec.Features; want > 0 {
		last = first + want - 1
	}
	average := 0
	if dense := samples * (last - first + 1); len(all) == len(files) && (2*values < dense || dense > libsvmDenseSize) {
		average = max(1, (values+samples-1)/samples)
	}
	for _, t := range all {
		if t.last > last {
			by := "data.dimension allows"
			if spec.Trained != nil {
				by = "the model takes"
			}
			return atLine(t.path, t.lastLine, "index %d: %s %d..%d", t.last, by, first, last)
		}
		t.first, t.last, t.average = first, last, average
	}
	return nil
}

// A span is the place of a sample among sparse values.
type span struct{ from, to int }

// sparseValues stores, by sample, the values that are not 0 in the file; zero has all others.
type sparseValues struct {
	spans  []span // by sample
	index  []int32
	values []float32
	zero   []float32 // the other values; nil: 0
}

// sample writes sample i.
func (s *sparseValues) sample(dst []float32, i int) {
	if s.zero == nil {
		clear(dst)
	} else {
		copy(dst, s.zero)
	}
	for k := s.spans[i].from; k < s.spans[i].to; k++ {
		dst[s.index[k]] = s.values[k]
	}
}

// copyRow makes sample k a copy of sample i of another set.
func (s *sparseValues) copyRow(k int, from *sparseValues, i int) {
	at := from.spans[i]
	s.spans[k] = span{len(s.index), len(s.index) + at.to - at.from}
	s.index = append(s.index, from.index[at.from:at.to]...)
	s.values = append(s.values, from.values[at.from:at.to]...)
}
