package data

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gossiptrainer/internal/rng"
	"gossiptrainer/model/sample"
)

// denseRows returns all values of a set.
func denseRows(s Set) []float32 {
	var b sample.Batch
	s.Range(&b, 0, s.Len())
	return b.X
}

func TestIndicesBeginWhereFilesSay(t *testing.T) {
	const zero, one = "1 0:5 2:7\n2 1:6\n", "1 1:5 3:7\n2 2:6\n"
	for _, test := range []struct {
		name, train, test, indices string
		first                      []float32 // of the test file
		want                       string    // error
	}{
		{"from 1", one, "1 1:9\n", "auto", []float32{9, 0, 0}, ""},
		{"from 0", zero, "1 0:9\n", "", []float32{9, 0, 0}, ""},
		{"from 0 in one file", zero, "1 1:9\n", "", []float32{0, 9, 0}, ""},
		{"from 0 in the other file", "1 1:5 2:7\n2 1:6\n", "1 0:9\n", "", []float32{9, 0, 0}, ""},
		{"as a comment says", "# Column indices are zero-based\n1 1:5 2:7\n2 1:6\n", "1 1:9\n", "",
			[]float32{0, 9, 0}, ""},
		{"as a comment of scikit-learn says", "# Column indices are one-based\n" + one, "1 1:9\n", "",
			[]float32{9, 0, 0}, ""},
		{"as the run file says", "1 1:5 2:7\n2 1:6\n", "1 1:9\n", ZeroBased, []float32{0, 9, 0}, ""},
		{"against the run file", zero, "1 1:9\n", OneBased, nil,
			"a.svm: indices begin with 0, but data.indices is one-based"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			spec := FileSpec{Path: put(t, dir, "a.svm", []byte(test.train)), Test: put(t, dir, "b.svm", []byte(test.test)),
				Indices: test.indices}
			sources, err := OpenFiles([]FileSpec{spec})
			wantError(t, err, slices.DeleteFunc([]string{test.want}, func(s string) bool { return s == "" })...)
			if err != nil {
				return
			}
			if _, held := bothParts(t, sources[0]); !slices.Equal(denseRows(held), test.first) {
				t.Errorf("test rows %v, want %v", denseRows(held), test.first)
			}
			surveys, err := SurveyFiles(spec)
			if err != nil || len(surveys[1].Columns) != 3 || surveys[1].Shape.C != 3 {
				t.Errorf("surveys %+v, error %v", surveys, err)
			}
		})
	}
}

// A set is the same whether it is kept sparse or dense, with and without standardisation.
func TestSparseAndDenseSetsAreEqual(t *testing.T) {
	draw := rng.At(1, 0)
	var text, table strings.Builder
	const features = 12
	for i := range 60 {
		fmt.Fprint(&text, i%3)
		for k := range features {
			if v := draw.Raw(uint32(i*features + k)); v%5 == 0 {
				fmt.Fprintf(&text, " %d:%g", k+1, float64(v%1000)/8)
				fmt.Fprintf(&table, "%g,", float64(v%1000)/8)
			} else {
				fmt.Fprint(&table, "0,")
			}
		}
		fmt.Fprintln(&text)
		fmt.Fprintln(&table, i%3)
	}
	dir := t.TempDir()
	sparse, dense := put(t, dir, "a.svm", []byte(text.String())), put(t, dir, "a.csv", []byte(table.String()))
	for _, standardise := range []bool{false, true} {
		open := func(path string) (Set, Set) {
			s, _ := opened(t, FileSpec{Path: path, TestShare: .3, Features: features, Standardise: standardise,
				Columns: Columns{Header: map[bool]string{true: "absent"}[path == dense]}})
			return bothParts(t, s)
		}
		train, held := open(sparse)
		same, heldSame := open(dense)
		if train.sparse == nil || same.sparse != nil {
			t.Fatalf("sparse %v, dense %v", train.sparse != nil, same.sparse != nil)
		}
		if a, b := Fingerprint(train, held), Fingerprint(same, heldSame); a != b {
			t.Errorf("standardised %v: fingerprints %s and %s", standardise, a, b)
		}
		rows := []int{7, 0, 30, 7}
		both, bothSame := Concat([]Set{train.Subset(rows), held}), Concat([]Set{same.Subset(rows), heldSame})
		if !slices.Equal(denseRows(both), denseRows(bothSame)) || !slices.Equal(both.labels, bothSame.labels) {
			t.Errorf("standardised %v: parts differ", standardise)
		}
		s, _ := opened(t, FileSpec{Path: sparse, TestShare: .3, Standardise: standardise})
		some, err := s.Train([]int{5, 2})
		if err != nil || !slices.Equal(denseRows(some), denseRows(train.Subset([]int{5, 2}))) {
			t.Errorf("standardised %v: rows 5 and 2 differ, error %v", standardise, err)
		}
	}
	surveys, err := SurveyFiles(FileSpec{Path: sparse})
	if err != nil {
		t.Fatal(err)
	}
	other, err := SurveyFiles(FileSpec{Path: dense, Columns: Columns{Header: "absent"}})
	if err != nil {
		t.Fatal(err)
	}
	for c, column := range surveys[0].Columns {
		want := other[0].Columns[c]
		if column.Name != want.Name || column.Least != want.Least || column.Most != want.Most ||
			!near(column.Mean, want.Mean) || !near(column.Deviation, want.Deviation) {
			t.Errorf("column %+v, want %+v", column, want)
		}
	}
}

func near(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }

// Dense, these samples would need 4 GB.
func TestWideFilesStaySparse(t *testing.T) {
	var text strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&text, "%d %d:1 500000:%d\n", i%2, 1+i%99, i%7+1)
	}
	path := put(t, t.TempDir(), "a.svm", []byte(text.String()))
	s, _ := opened(t, FileSpec{Path: path, TestShare: .2})
	train, held := bothParts(t, s)
	row := make([]float32, train.Shape.C)
	held.Sample(row, 0)
	if s.Info.Shape.C != 500_000 || train.Len() != 1600 || row[499_999] == 0 {
		t.Errorf("%d features, %d rows, last value %v", s.Info.Shape.C, train.Len(), row[499_999])
	}
	if values := len(train.sparse.values); values != 2*1600 {
		t.Errorf("%d values are kept, want 3200", values)
	}
}

// A table beside a file in LIBSVM text is dense, and so is that file.
func TestSparseTextBesideATable(t *testing.T) {
	dir := t.TempDir()
	spec := FileSpec{Path: put(t, dir, "a.svm", []byte("0 3:1\n1 1:2\n")), Test: put(t, dir, "b.csv", []byte("0,0,5,0\n"))}
	s, _ := opened(t, spec)
	train, held := bothParts(t, s)
	if !slices.Equal(denseRows(train), []float32{0, 0, 1, 2, 0, 0}) || !slices.Equal(denseRows(held), []float32{0, 0, 5}) {
		t.Errorf("train %v, test %v", denseRows(train), denseRows(held))
	}
}

func TestLIBSVMNotes(t *testing.T) {
	path := put(t, t.TempDir(), "a.svm", []byte("0 qid:1 0:1 1:2\n1 qid:2 0:2 1:3\n"))
	_, notes := opened(t, FileSpec{Path: path, TestShare: .5})
	if !strings.Contains(notes, "indices begin with 0") || !strings.Contains(notes, "qid fields are not read") {
		t.Errorf("notes %q", notes)
	}
	if _, err := FolderSpec(filepath.Dir(path)); err == nil {
		t.Error("a folder without train.libsvm is a set")
	}
}
