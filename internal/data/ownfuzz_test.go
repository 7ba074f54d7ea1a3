package data

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gossiptrainer/model/sample"
)

// fuzzFile checks that a file of any content is either refused with its name, or read as finite values with a class
// each. A survey never panics either.
func fuzzFile(t *testing.T, path string, content []byte) {
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	spec := FileSpec{Path: path, TestShare: 0.5, Standardise: len(content)%2 == 1}
	_, _ = SurveyFiles(spec)
	for features := range 4 {
		fuzzSamples(t, spec, features)
	}
	sources, err := OpenFiles([]FileSpec{spec})
	if err != nil {
		_, format := errors.AsType[*FormatError](err)
		if _, missing := errors.AsType[*MissingError](err); !format && !missing {
			t.Errorf("%T: %v", err, err)
		}
		return
	}
	train, test := bothParts(t, sources[0])
	if train.Len() != sources[0].Info.Train || test.Len() != sources[0].Info.Test || train.Len() < 1 || test.Len() < 1 {
		t.Errorf("%d and %d rows, want %d and %d", train.Len(), test.Len(), sources[0].Info.Train, sources[0].Info.Test)
	}
	for _, s := range []Set{train, test} {
		dst := make([]float32, s.Shape.Features())
		for i := range s.Len() {
			s.Sample(dst, i)
			if s.Label(i) >= len(s.Classes) {
				t.Errorf("row %d has the label %d of %d classes", i, s.Label(i), len(s.Classes))
			}
			for _, v := range dst {
				if v != v || !spec.Standardise && math.IsInf(float64(v), 0) {
					t.Errorf("row %d has the value %v", i, v)
				}
			}
		}
	}
}

// fuzzSamples checks that a file is refused with its name, or read as finite values for a model.
func fuzzSamples(t *testing.T, spec FileSpec, features int) {
	n := plainPixels(features)
	n.Scale = 1
	spec.Trained = &Trained{Shape: sample.Shape{H: 1, W: 1, C: features}, Norm: n, Classes: []string{"0", "1"}}
	samples, err := OpenSamples(spec)
	if err == nil {
		err = samples.Batches(3, func(b sample.Batch) error {
			if len(b.Y) < 1 || len(b.Y) > 3 || len(b.X) != features*len(b.Y) {
				t.Errorf("%d values in %d samples of %d", len(b.X), len(b.Y), features)
			}
			if slices.ContainsFunc(b.X, func(v float32) bool { return v-v != 0 }) {
				t.Errorf("samples of %v", b.X)
			}
			return nil
		})
	}
	_, format := errors.AsType[*FormatError](err)
	if _, missing := errors.AsType[*MissingError](err); err != nil && !format && !missing {
		t.Errorf("%T: %v", err, err)
	}
}

func FuzzCSV(f *testing.F) {
	f.Add([]byte("a,b\r\n1,x\r\n\"2\",y\r\n"))
	f.Add([]byte("\xef\xbb\xbf1;2\n3;4\n"))
	f.Add([]byte("# a b\n1 \"x y\"\n 2\tz\n"))
	f.Add([]byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x33\xd4\xe1\x02\x00"))
	path := filepath.Join(f.TempDir(), "a.csv")
	f.Fuzz(func(t *testing.T, content []byte) { fuzzFile(t, path, content) })
}

func FuzzNPY(f *testing.F) {
	f.Add(npy("<f8", "(2, 2)", true, floats64(1, 2, 3, 4)))
	f.Add(npy(">U3", "(2, 2)", false, make([]byte, 48)))
	f.Add(npy("|i1", "(3, 2)", false, []byte("abcdef")))
	path := filepath.Join(f.TempDir(), "a.npy")
	f.Fuzz(func(t *testing.T, content []byte) { fuzzFile(t, path, content) })
}

func FuzzNPZ(f *testing.F) {
	f.Add(zipped(f, map[string][]byte{"X.npy": npy("<f4", "(2, 1)", false, make([]byte, 8)),
		"y.npy": npy("|u1", "(2,)", false, []byte{0, 1})}))
	path := filepath.Join(f.TempDir(), "a.npz")
	f.Fuzz(func(t *testing.T, content []byte) { fuzzFile(t, path, content) })
}

func FuzzOwnIDX(f *testing.F) {
	f.Add([]byte{0, 0, 11, 2, 0, 0, 0, 2, 0, 0, 0, 2, 1, 2, 3, 4, 5, 6, 7, 8})
	f.Add(binary.BigEndian.AppendUint32([]byte{0, 0, 14, 1}, 0xffffffff))
	f.Add([]byte{0, 0, 11, 2, 0, 0, 0, 1, 0x1f, 0xff, 0xff, 0xff})
	path := filepath.Join(f.TempDir(), "a-idx2")
	f.Fuzz(func(t *testing.T, content []byte) { fuzzFile(t, path, content) })
}

func FuzzParquet(f *testing.F) {
	f.Add(parquetFile(f, sampleRow{.5, -1, 7}, sampleRow{.25, 2, 9}, sampleRow{1, 0, 7}))
	path := filepath.Join(f.TempDir(), "a.parquet")
	f.Fuzz(func(t *testing.T, content []byte) {
		if len(content) < 12 || !bytes.HasPrefix(content, []byte("PAR1")) {
			return
		}
		fuzzFile(t, path, content)
	})
}

func FuzzPicture(f *testing.F) {
	f.Add(picture(f, grey(2, 1, 1, 2)))
	dir := f.TempDir()
	put(f, dir, "b/1.png", picture(f, grey(2, 1, 3, 4)))
	put(f, dir, "b/2.png", picture(f, grey(2, 1, 3, 4)))
	path := put(f, dir, "a/1.png", nil)
	f.Fuzz(func(t *testing.T, content []byte) {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		spec := FileSpec{Path: dir, TestShare: 0.3}
		if sources, err := OpenFiles([]FileSpec{spec}); err == nil {
			bothParts(t, sources[0])
		}
	})
}
