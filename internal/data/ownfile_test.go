package data

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// put writes a file into a folder of the test and returns its path.
func put(t testing.TB, dir, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// npy returns a .npy file.
func npy(descr, shape string, fortran bool, body []byte) []byte {
	order := "False"
	if fortran {
		order = "True"
	}
	head := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }\n", descr, order, shape)
	out := append([]byte(npyMagic), 1, 0)
	out = binary.LittleEndian.AppendUint16(out, uint16(len(head)))
	return append(append(out, head...), body...)
}

// floats64 returns little-endian doubles.
func floats64(values ...float64) (out []byte) {
	for _, v := range values {
		out = binary.LittleEndian.AppendUint64(out, math.Float64bits(v))
	}
	return out
}

func zipped(t testing.TB, members map[string][]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		w, err := z.Create(name) // deflated
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(members[name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func squeezed(t testing.TB, content []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

type sampleRow struct {
	A     float64 `parquet:"a"`
	B     float32 `parquet:"b"`
	Label int64   `parquet:"label"`
}

func parquetFile[R any](t testing.TB, rows ...R) []byte {
	t.Helper()
	var out bytes.Buffer
	w := parquet.NewGenericWriter[R](&out, parquet.MaxRowsPerRowGroup(2))
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// The same four samples: (0.5, -1) 7, (0.25, 2) 9, (1, 0) 7, (0, 4) 9.
var (
	sameValues  = []float64{0.5, -1, 0.25, 2, 1, 0, 0, 4}
	sameColumns = []float64{0.5, 0.25, 1, 0, -1, 2, 0, 4}
	sameLabels  = []byte{7, 0, 9, 0, 7, 0, 9, 0}
)

func TestAllFormatsReadTheSameTable(t *testing.T) {
	dir := t.TempDir()
	y := npy("<i2", "(4,)", false, sameLabels)
	text := "0.5,-1,7\r\n\r\n0.25,2,9\r\n1,0,7.0\r\n\"0\", 4 ,9\r\n"
	halves := []byte{0, 0x38, 0, 0xbc, 0, 0x34, 0, 0x40, 0, 0x3c, 0, 0, 0, 0, 0, 0x44}
	paths := map[string]FileSpec{
		"csv":    {Path: put(t, dir, "a.csv", []byte(text))},
		"csv.gz": {Path: put(t, dir, "a.csv.gz", squeezed(t, []byte(text)))},
		"header": {Path: put(t, dir, "h.csv", []byte("\xef\xbb\xbfa,\"b\",y\n"+text))},
		"label":  {Path: put(t, dir, "l.csv", []byte("label;a;b\n7;.5;-1\n9;.25;2\n7;1;0\n9;0;4"))},
		"tabs": {Path: put(t, dir, "t.tsv",
			[]byte("id\ta\tc\tb\n1\t0.5\t7\t-1\n2\t.25\t9\t2\n3\t1\t7\t0\n4\t0\t9\t4"))},
		"npy":     {Path: put(t, dir, "X.npy", npy("<f8", "(4, 2)", false, floats64(sameValues...)))},
		"fortran": {Path: put(t, dir, "f/X.npy", npy("<f8", "(4, 2)", true, floats64(sameColumns...)))},
		"half":    {Path: put(t, dir, "g/X.npy", npy("<f2", "(4, 2)", false, halves))},
		"table.npy": {Path: put(t, dir, "tab.npy", npy("<f8", "(4,3)", false, floats64(.5, -1, 7, .25, 2, 9,
			1, 0, 7, 0, 4, 9)))},
		"npz": {Path: put(t, dir, "a.npz", zipped(t, map[string][]byte{"X.npy": npy("<f8", "(4, 2)",
			false, floats64(sameValues...)), "y.npy": y}))},
		"parquet": {Path: put(t, dir, "a.parquet", parquetFile(t, sampleRow{.5, -1, 7}, sampleRow{.25, 2,
			9}, sampleRow{1, 0, 7}, sampleRow{0, 4, 9}))},
		"libsvm": {Path: put(t, dir, "a.svm", []byte("7 1:0.5 2:-1\n9 1:.25 2:2\n7 1:1\n9 2:4\n"))},
		"idx float": {Path: put(t, dir, "s-images-idx2", append([]byte{0, 0, 9, 2, 0, 0, 0, 4, 0, 0, 0, 2},
			2, 252, 1, 8, 4, 0, 0, 16))},
		"text class": {Path: put(t, dir, "u/X.npy", npy("<f8", "(4, 2)", false, floats64(sameValues...)))},
	}
	put(t, dir, "y.npy", y)
	put(t, dir, "f/y.npy", npy("<f8", "(4, 1)", false, floats64(7, 9, 7, 9)))
	put(t, dir, "g/y.npy", npy("|S1", "(4,)", false, []byte("7979")))
	put(t, dir, "u/y.npy", npy(">U2", "(4,)", false,
		bytes.Repeat([]byte("\x00\x00\x007\x00\x00\x00\x00\x00\x00\x009\x00\x00\x00\x00"), 2)))
	put(t, dir, "s-labels-idx1", []byte{0, 0, 8, 1, 0, 0, 0, 4, 7, 9, 7, 9})
	want := ""
	for _, name := range slices.Sorted(maps.Keys(paths)) {
		spec := paths[name]
		spec.TestShare = 0.25
		if name == "tabs" {
			spec.Columns = Columns{Label: "c", Skip: []string{"id"}}
		}
		sources, err := OpenFiles([]FileSpec{spec})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		train, test := bothParts(t, sources[0])
		if name == "idx float" { // four times the values, as bytes with a sign
			for _, s := range []Set{train, test} {
				for k := range s.floats {
					s.floats[k] /= 4
				}
			}
		}
		got := fmt.Sprint(Fingerprint(train, test), train.Classes, train.Len(), test.Len())
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("%s: %s, want %s; train %v %v, test %v %v", name, got, want, train.floats, train.labels,
				test.floats, test.labels)
		}
	}
	if !strings.HasSuffix(want, "[7 9] 3 1") {
		t.Errorf("classes and rows %s, want [7 9] 3 1", want)
	}
}

func bothParts(t testing.TB, s *Source) (train, test Set) {
	t.Helper()
	train, err := s.Train(nil)
	if err != nil {
		t.Fatal(err)
	}
	test, err = s.Test()
	if err != nil {
		t.Fatal(err)
	}
	return train, test
}

func picture(t testing.TB, m image.Image) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := png.Encode(&out, m); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func grey(w, h int, pixels ...uint8) image.Image {
	return &image.Gray{Pix: pixels, Stride: w, Rect: image.Rect(0, 0, w, h)}
}

func TestPicturesArraysAndIDXReadTheSameImages(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "p/cat/a.png", picture(t, grey(2, 1, 1, 2)))
	put(t, dir, "p/cat/b.png", picture(t, grey(2, 1, 3, 4)))
	put(t, dir, "p/dog/.DS_Store", nil)
	put(t, dir, "p/dog/a.png", picture(t, grey(2, 1, 5, 255)))
	put(t, dir, "x_images.npy", npy("|u1", "(3, 1, 2)", false, []byte{1, 2, 3, 4, 5, 255}))
	put(t, dir, "x_labels.npy", npy("|S3", "(3,)", false, []byte("catcatdog")))
	put(t, dir, "i-images-idx3-ubyte.gz", squeezed(t, idx("\x01\x02\x03\x04\x05\xff", 2051, 3, 1, 2)))
	put(t, dir, "i-labels-idx1-ubyte", idx("\x00\x00\x01", 2049, 3))
	for _, name := range []string{"p", "x_images.npy", "i-images-idx3-ubyte.gz"} {
		path := filepath.Join(dir, name)
		sources, err := OpenFiles([]FileSpec{{Path: path, Test: path}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		train, test := bothParts(t, sources[0])
		dst := make([]float32, 2)
		train.Sample(dst, 2)
		if !slices.Equal(dst, []float32{float32(5. / 255), 1}) || !slices.Equal(test.labels, []uint8{0, 0, 1}) ||
			train.Shape.H != 1 || train.Shape.W != 2 || train.Shape.C != 1 {
			t.Errorf("%s: sample 2 is %v, labels %v, shape %v", name, dst, test.labels, train.Shape)
		}
	}
}

func TestColoursAndChannels(t *testing.T) {
	dir := t.TempDir()
	coloured := image.NewNRGBA(image.Rect(0, 0, 1, 2))
	coloured.Set(0, 0, color.NRGBA{10, 20, 30, 255})
	coloured.Set(0, 1, color.NRGBA{200, 100, 50, 0})
	put(t, dir, "p/a/1.png", picture(t, coloured))
	put(t, dir, "p/b/1.png", picture(t, grey(1, 2, 7, 8)))
	first := put(t, dir, "X.npy", npy("|u1", "(2, 3, 1, 5)", false, append(bytes.Repeat([]byte{1, 2, 3, 4, 5},
		3), make([]byte, 15)...)))
	put(t, dir, "y.npy", npy("|u1", "(2,)", false, []byte{0, 1}))
	sources, err := OpenFiles([]FileSpec{{Path: filepath.Join(dir, "p"), Test: filepath.Join(dir, "p")}})
	if err != nil {
		t.Fatal(err)
	}
	train, _ := bothParts(t, sources[0])
	if want := []uint8{10, 20, 30, 0, 0, 0, 7, 7, 7, 8, 8, 8}; !slices.Equal(train.bytes, want) {
		t.Errorf("pictures with colours read as %v, want %v", train.bytes, want)
	}
	sources, err = OpenFiles([]FileSpec{{Path: first, Test: first}})
	if err != nil {
		t.Fatal(err)
	}
	train, _ = bothParts(t, sources[0])
	if want := []uint8{1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5}; !slices.Equal(train.bytes[:15], want) ||
		train.Shape.H != 1 || train.Shape.W != 5 || train.Shape.C != 3 {
		t.Errorf("channels first read as %v %v, want %v", train.Shape, train.bytes[:15], want)
	}
}

func TestStandardiseUsesTheTrainSplit(t *testing.T) {
	dir := t.TempDir()
	train := put(t, dir, "a.csv", []byte("x,c,y\n1,5,a\n3,5,b\n"))
	test := put(t, dir, "b.csv", []byte("x,c,y\n9,6,a\n"))
	sources, err := OpenFiles([]FileSpec{{Path: train, Test: test, Standardise: true}})
	if err != nil {
		t.Fatal(err)
	}
	first, second := bothParts(t, sources[0])
	if !slices.Equal(first.floats, []float32{-1, 0, 1, 0}) || !slices.Equal(second.floats, []float32{7, 1}) {
		t.Errorf("train %v, test %v: want mean 2 and deviation 1 of column 1, mean 5 of column 2", first.floats,
			second.floats)
	}
}

func TestTheDrawOfTestRowsIsAlwaysTheSame(t *testing.T) {
	var text strings.Builder
	for i := range 100 {
		fmt.Fprintf(&text, "%d,%d\n", i, i%2)
	}
	spec := FileSpec{Path: put(t, t.TempDir(), "a.csv", []byte(text.String())), TestShare: 0.2}
	var prints []string
	for range 2 {
		sources, err := OpenFiles([]FileSpec{spec})
		if err != nil {
			t.Fatal(err)
		}
		train, test := bothParts(t, sources[0])
		if !slices.IsSorted(train.floats) || !slices.IsSorted(test.floats) || test.Len() != 20 {
			t.Errorf("test rows %v, want 20 in the order of the file", test.floats)
		}
		if part, err := sources[0].Train([]int{79, 0}); err != nil || part.floats[0] != train.floats[79] {
			t.Errorf("rows 79 and 0 are %v, want %v first; error %v", part.floats, train.floats[79], err)
		}
		all := slices.Sorted(slices.Values(slices.Concat(train.floats, test.floats)))
		if len(slices.Compact(all)) != 100 {
			t.Error("a row is in both parts")
		}
		prints = append(prints, Fingerprint(train, test))
	}
	if prints[0] != prints[1] {
		t.Errorf("fingerprints %v differ", prints)
	}
}
