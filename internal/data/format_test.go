package data

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gossiptrainer/model/sample"
)

func cursorOn(content []byte) *cursor { return &cursor{r: bytes.NewReader(content), file: "file"} }

// wantError checks that err mentions every part of want; an empty list means no error.
func wantError(t *testing.T, err error, want ...string) {
	t.Helper()
	if len(want) == 0 {
		if err != nil {
			t.Errorf("unexpected error: %v", err)
		}
		return
	}
	if err == nil {
		t.Fatalf("no error, want one with %q", want)
	}
	for _, part := range want {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
}

// idx returns a header of the given words and the bytes after it.
func idx(body string, words ...uint32) []byte {
	var out []byte
	for _, w := range words {
		out = binary.BigEndian.AppendUint32(out, w)
	}
	return append(out, body...)
}

func TestReadIDXLabels(t *testing.T) {
	tests := []struct {
		name    string
		content []byte
		want    []string
	}{
		{"right", idx("\x02\x00\x01", 2049, 3), nil},
		{"empty file", nil, []string{"file", "offset 0", "4 bytes too early"}},
		{"magic of images", idx("\x02\x00\x01", 2051, 3), []string{"offset 0", "2051", "2049"}},
		{"other count", idx("\x02\x00\x01", 2049, 4), []string{"offset 4", "4 samples", "want 3"}},
		{"count that would overflow", idx("", 2049, 0xffffffff), []string{"offset 4", "4294967295"}},
		{"header cut", idx("\x00\x00", 2049), []string{"offset 6", "2 bytes too early"}},
		{"truncated", idx("\x02\x00", 2049, 3), []string{"offset 10", "1 bytes too early"}},
		{"continues", idx("\x02\x00\x01\x00", 2049, 3), []string{"offset 11", "continues"}},
		{"label out of range", idx("\x02\x03\x01", 2049, 3), []string{"offset 9", "label 3", "0..2"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			y, err := readIDXLabels(cursorOn(tt.content), 3, 3)
			wantError(t, err, tt.want...)
			if tt.want == nil && !slices.Equal(y, []uint8{2, 0, 1}) {
				t.Errorf("labels %v, want [2 0 1]", y)
			}
		})
	}
}

// tiny describes sets of small pictures with three classes.
func tiny(shape sample.Shape, n int) Info {
	norm := Normalization{Scale: 1, Mean: make([]float64, shape.C), Std: slices.Repeat([]float64{1}, shape.C)}
	return Info{Name: "tiny", Shape: shape, Classes: []string{"a", "b", "c"}, Train: n, Test: n, Pixels: true, Norm: &norm}
}

func TestReadIDXImages(t *testing.T) {
	y := []uint8{2, 0}
	tests := []struct {
		name    string
		content []byte
		want    []string
	}{
		{"right", idx("abcdefghijkl", 2051, 2, 3, 2), nil},
		{"magic of labels", idx("abcdefghijkl", 2049, 2, 3, 2), []string{"offset 0", "2049"}},
		{"more images than labels", idx("abcdefghijkl", 2051, 3, 3, 2), []string{"offset 4", "3 samples, want 2"}},
		{"other height", idx("abcdefghijkl", 2051, 2, 2, 2), []string{"offset 8", "2 rows, want 3"}},
		{"other width", idx("abcdefghijkl", 2051, 2, 3, 3), []string{"offset 12", "3 columns, want 2"}},
		{"truncated", idx("abcdefghijk", 2051, 2, 3, 2), []string{"offset 27", "1 bytes too early"}},
		{"continues", idx("abcdefghijklm", 2051, 2, 3, 2), []string{"offset 28", "continues"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, err := newBuilder(tiny(sample.Shape{H: 3, W: 2, C: 1}, 2), 2, nil)
			if err != nil {
				t.Fatal(err)
			}
			wantError(t, readIDXImages(cursorOn(tt.content), y, b), tt.want...)
			if tt.want == nil && (string(b.set.bytes) != "abcdefghijkl" || !slices.Equal(b.set.labels, y)) {
				t.Errorf("pixels %q, labels %v", b.set.bytes, b.set.labels)
			}
		})
	}
}

func TestReadCIFAR(t *testing.T) {
	record := func(label byte, value byte) []byte {
		return append([]byte{label}, bytes.Repeat([]byte{value}, 3*cifarPlane)...)
	}
	two := append(record(3, 1), record(9, 2)...)
	tests := []struct {
		name    string
		content []byte
		want    []string
	}{
		{"right", two, nil},
		{"truncated within a record", two[:6000], []string{"offset 6000", "146 bytes too early"}},
		{"a record missing", two[:3073], []string{"offset 3073", "3073 bytes too early"}},
		{"continues", append(slices.Clone(two), 0), []string{"offset 6146", "continues"}},
		{"label out of range", append(record(3, 1), record(10, 2)...), []string{"offset 3073", "label 10", "0..9"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var labels []uint8
			err := readCIFAR(cursorOn(tt.content), 2, func(_ int, label uint8, _ []uint8) { labels = append(labels, label) })
			wantError(t, err, tt.want...)
			if tt.want == nil && !slices.Equal(labels, []uint8{3, 9}) {
				t.Errorf("labels %v, want [3 9]", labels)
			}
		})
	}
}

func TestInterleaveTurnsPlanesIntoPixels(t *testing.T) {
	planes := make([]uint8, 3*cifarPlane)
	for i := range planes {
		planes[i] = uint8(i/cifarPlane*64 + i%7)
	}
	pixels := make([]uint8, len(planes))
	interleave(pixels, planes)
	for i, got := range pixels {
		if want := planes[i%3*cifarPlane+i/3]; got != want {
			t.Fatalf("value %d = %d, want %d", i, got, want)
		}
	}
}

func TestReadDigitsCSV(t *testing.T) {
	tests := []struct {
		name, content string
		want          []string
	}{
		{"right", "0,16,3,4,7\n1,2,3,4,0\n", nil},
		{"no newline at the end", "0,16,3,4,7\n1,2,3,4,0", nil},
		{"carriage returns", "0,16,3,4,7\r\n1,2,3,4,0\r\n", nil},
		{"pixel too large", "0,16,3,4,7\n1,17,3,4,0\n", []string{"line 2", "field 2", "17"}},
		{"label too large", "0,16,3,4,10\n1,2,3,4,0\n", []string{"line 1", "field 5", "10"}},
		{"negative", "0,-1,3,4,7\n1,2,3,4,0\n", []string{"line 1", "field 2"}},
		{"empty field", "0,,3,4,7\n1,2,3,4,0\n", []string{"line 1", "field 2"}},
		{"too few fields", "0,16,3,4\n1,2,3,4,0\n", []string{"line 1", "4 fields, want 5"}},
		{"too many fields", "0,16,3,4,7,1\n1,2,3,4,0\n", []string{"line 1", "field 6"}},
		{"empty line", "0,16,3,4,7\n\n", []string{"line 2"}},
		{"truncated", "0,16,3,4,7\n", []string{"line 2", "after 1 rows, want 2"}},
		{"continues", "0,16,3,4,7\n1,2,3,4,0\n1,2,3,4,0\n", []string{"line 3", "continues"}},
		{"garbage", "\x00\xff\x12", []string{"line 1"}},
		{"line without end", strings.Repeat("1,", 50_000), []string{"line 1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var labels []uint8
			err := readDigitsCSV(cursorOn([]byte(tt.content)), 2, 4,
				func(_ int, label uint8, _ []uint8) { labels = append(labels, label) })
			wantError(t, err, tt.want...)
			if tt.want == nil && !slices.Equal(labels, []uint8{7, 0}) {
				t.Errorf("labels %v, want [7 0]", labels)
			}
		})
	}
}

func TestReadLIBSVM(t *testing.T) {
	tests := []struct {
		name, content string
		want          []string
	}{
		{"right", "+1 1:1 3:0.5 \n-1\n", nil},
		{"tabs", "+1\t1:1\t3:0.5\n-1", nil},
		{"scikit-learn", "# Generated by a program\n#\n\n+1 qid:2 1:1 3:0.5 # a comment: 7\n  \r\n-1 qid:3\r\n", nil},
		{"no label", "+1 1:1 3:0.5\n 1:1\n", []string{"line 2", "label"}},
		{"label no number", "yes 1:1\n", []string{"line 1", `"yes"`}},
		{"label not finite", "NaN 1:1\n", []string{"line 1"}},
		{"index below 0", "+1 -1:1\n", []string{"line 1", "-1:1", "index"}},
		{"index too large", "+1 33554433:1\n", []string{"line 1", "0..33554432"}},
		{"several labels", "1,2 1:1\n", []string{"line 1", "several labels"}},
		{"query late", "1 1:1 qid:3\n", []string{"line 1", "qid:3"}},
		{"query twice", "1 qid:1 qid:3 1:1\n", []string{"line 1", "qid:3"}},
		{"indices fall", "+1 3:1 2:1\n", []string{"line 1", "index 2 after 3"}},
		{"index twice", "+1 3:1 3:1\n", []string{"line 1", "index 3 after 3"}},
		{"no colon", "+1 3\n", []string{"line 1", `"3"`}},
		{"value no number", "+1 3:x\n", []string{"line 1", "3:x"}},
		{"value too large for float32", "+1 3:1e99\n", []string{"line 1", "3:1e99"}},
		{"value infinite", "+1 3:Inf\n", []string{"line 1", "3:Inf"}},
		{"empty line", "+1 3:1\n\n# no more\n+1 x\n", []string{"line 4"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			_, err := readLIBSVM(cursorOn([]byte(tt.content)), func(i int, row libsvmRow) error {
				got = append(got, fmt.Sprint(i, " ", row.label, row.features))
				return nil
			})
			wantError(t, err, tt.want...)
			if want := []string{"0 1[{1 1} {3 0.5}]", "1 -1[]"}; tt.want == nil && !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// write puts files into a new folder and returns it.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestLoadUsersLIBSVM(t *testing.T) {
	dir := write(t, map[string]string{
		"train.libsvm": "2 1:0.5 3:1\n0 2:7\n2 1:1\n",
		"test.libsvm":  "1.5 4:1\n",
	})
	train, test, err := Load("libsvm", dir)
	if err != nil {
		t.Fatal(err)
	}
	if train.Shape != (sample.Shape{H: 1, W: 1, C: 4}) || !slices.Equal(train.Classes, []string{"0", "1.5", "2"}) {
		t.Errorf("shape %v, classes %q", train.Shape, train.Classes)
	}
	var b sample.Batch
	train.Range(&b, 0, 3)
	if want := []float32{0.5, 0, 1, 0, 0, 7, 0, 0, 1, 0, 0, 0}; !slices.Equal(b.X, want) {
		t.Errorf("train features %v, want %v", b.X, want)
	}
	if want := []int32{2, 0, 2}; !slices.Equal(b.Y, want) {
		t.Errorf("train labels %v, want %v", b.Y, want)
	}
	if test.Len() != 1 || test.Label(0) != 1 {
		t.Errorf("test split has %d samples, first label %d", test.Len(), test.Label(0))
	}
}

func TestLoadSaysWhatIsWrong(t *testing.T) {
	var gz bytes.Buffer
	z := gzip.NewWriter(&gz)
	z.Write(idx("", 2051, 60_000, 28, 28))
	z.Close()
	long := strings.Repeat("+1 1:1\n", 32_561)
	tests := []struct {
		name, set string
		files     map[string]string
		want      []string
	}{
		{"unknown set", "mnits", nil, []string{`"mnits"`, "mnist"}},
		{"nothing there", "mnist", nil, []string{"mnist", "train-labels-idx1-ubyte.gz", "not found"}},
		{"no gzip", "mnist", map[string]string{"mnist/train-labels-idx1-ubyte.gz": "hello, world"},
			[]string{"offset 0", "gzip"}},
		{"empty file", "mnist", map[string]string{"train-labels-idx1-ubyte.gz": ""}, []string{"offset 0"}},
		{"images as labels", "mnist", map[string]string{"train-labels-idx1-ubyte.gz": gz.String()},
			[]string{"offset 0", "2051, want 2049"}},
		{"gzip cut", "mnist", map[string]string{"train-labels-idx1-ubyte.gz": gz.String()[:20]},
			[]string{"train-labels", "offset"}},
		{"no zstd", "cifar-10", map[string]string{"data_batch_1.bin.zst": "hello, world"},
			[]string{"data_batch_1.bin.zst", "offset 0"}},
		{"short batch", "cifar-10", map[string]string{"cifar-10/cifar-10-batches-bin/data_batch_1.bin": "hello"},
			[]string{"offset 5", "too early"}},
		{"third label", "a9a", map[string]string{"a9a": "+1 1:1\n0 1:1\n"}, []string{"line 2", "label 0", "-1, +1"}},
		{"index beyond 123", "a9a", map[string]string{"a9a": "+1 124:1\n"}, []string{"line 1", "index 124", "1..123"}},
		{"rows missing", "a9a", map[string]string{"a9a": "+1 1:1\n"}, []string{"line 2", "after 1 rows, want 32561"}},
		{"rows too many", "a9a", map[string]string{"a9a": long + "+1 1:1\n"}, []string{"line 32562", "continues"}},
		{"empty user file", "libsvm", map[string]string{"train.libsvm": "", "test.libsvm": ""}, []string{"line 1", "empty"}},
		{"user file missing", "libsvm", map[string]string{"train.libsvm": "1 1:1\n"}, []string{"test.libsvm", "not found"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := Load(tt.set, write(t, tt.files))
			wantError(t, err, tt.want...)
		})
	}
}

func TestMissingErrorKnowsTheWayOut(t *testing.T) {
	dir := t.TempDir()
	for set, want := range map[string]string{
		"cifar-10": "peer data fetch cifar-10",
		"libsvm":   "put train.libsvm and test.libsvm into " + dir,
	} {
		_, _, err := Load(set, dir)
		var missing *MissingError
		if !errors.As(err, &missing) {
			t.Fatalf("%s: error %v is no *MissingError", set, err)
		}
		if got := missing.Hint(); got != want {
			t.Errorf("%s: hint %q, want %q", set, got, want)
		}
	}
}

func TestFormatErrorKeepsTheCause(t *testing.T) {
	dir := write(t, map[string]string{"train-labels-idx1-ubyte.gz": "hello, world"})
	_, _, err := Load("mnist", dir)
	var format *FormatError
	if !errors.As(err, &format) || format.Unwrap() == nil {
		t.Errorf("error %v is no *FormatError with a cause", err)
	}
}

func TestRoot(t *testing.T) {
	t.Setenv("PEER_DATA", "from-environment")
	t.Setenv("XDG_CACHE_HOME", "/cache")
	if got, err := Root("given"); err != nil || got != "given" {
		t.Errorf("Root(given) = %q, %v", got, err)
	}
	if got, err := Root(""); err != nil || got != "from-environment" {
		t.Errorf("with PEER_DATA: %q, %v", got, err)
	}
	t.Setenv("PEER_DATA", "")
	if got, err := Root(""); err != nil || !strings.HasSuffix(got, filepath.Join("gossiptrainer", "data")) {
		t.Errorf("without PEER_DATA: %q, %v", got, err)
	}
}
