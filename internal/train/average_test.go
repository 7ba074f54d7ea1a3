package train

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gossiptrainer/internal/safetensors"
	"gossiptrainer/model"
)

// stored writes a file with tensors of raw bytes and returns its path.
func stored(t testing.TB, tensors []safetensors.Tensor, raw ...[]byte) string {
	t.Helper()
	text, err := (safetensors.Header{Tensors: tensors, Metadata: map[string]string{"run": "a", "n": fmt.Sprint(raw)}}).
		Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "m.safetensors")
	if err := os.WriteFile(path, append(text, slices.Concat(raw...)...), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func floats(dtype string, v ...float64) []byte { return safetensors.Append(nil, v, dtype) }

func count(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }

func TestMeansOfFiles(t *testing.T) {
	one := func(dtype string, v ...float64) string {
		return stored(t, []safetensors.Tensor{{Name: "w", Type: dtype, Shape: []int{len(v)}}}, floats(dtype, v...))
	}
	for _, dtype := range []string{"F64", "F32", "F16", "BF16"} {
		out := filepath.Join(t.TempDir(), "mean.safetensors")
		done, err := Averaging{Files: []string{one(dtype, 1, -2, 8), one(dtype, 2, -2, 0), one(dtype, 3, -2, 16)}}.Write(out)
		if err != nil || done.Tensors != 1 || done.Elements != 3 || len(done.Kept) > 0 {
			t.Errorf("%s: %+v, error %v", dtype, done, err)
		}
		mean, err := Read(out)
		if err != nil || !slices.Equal(mean.X, []float32{2, -2, 8}) {
			t.Errorf("%s: mean %v, error %v", dtype, mean.X, err)
		}
		if mean.Metadata["run"] != "a" || mean.Metadata["averaged"] != "3" || mean.Metadata["n"] != "" {
			t.Errorf("%s: metadata %v", dtype, mean.Metadata)
		}
	}
}

// Sums are float64: a million in float32 swallows 0.01.
func TestMeansLoseNothing(t *testing.T) {
	tensors := []safetensors.Tensor{{Name: "w", Type: "F32", Shape: []int{1}}}
	files := []string{stored(t, tensors, floats("F32", 1e6))}
	for range 999 {
		files = append(files, stored(t, tensors, floats("F32", 0.01)))
	}
	out := filepath.Join(t.TempDir(), "mean.safetensors")
	if _, err := (Averaging{Files: files}).Write(out); err != nil {
		t.Fatal(err)
	}
	mean, err := Read(out)
	if want := (1e6 + 999*float64(float32(0.01))) / 1000; err != nil || mean.X[0] != float32(want) {
		t.Errorf("mean %v, want %v, error %v", mean.X, want, err)
	}
}

// Tensors may come in any order. Counters are those of the first file.
func TestMeansMatchTensorsByName(t *testing.T) {
	w, n := safetensors.Tensor{Name: "w", Type: "F64", Shape: []int{1}}, safetensors.Tensor{Name: "n", Type: "I64"}
	first := stored(t, []safetensors.Tensor{w, n}, floats("F64", 1), count(7))
	second := stored(t, []safetensors.Tensor{n, w}, count(8), floats("F64", 2))
	out := filepath.Join(t.TempDir(), "mean.safetensors")
	done, err := Averaging{Files: []string{first, second}}.Write(out)
	if err != nil || !slices.Equal(done.Kept, []string{"n"}) {
		t.Fatalf("%+v, error %v", done, err)
	}
	content, err := os.ReadFile(out)
	if want := append(floats("F64", 1.5), count(7)...); err != nil || !strings.HasSuffix(string(content), string(want)) {
		t.Errorf("the file ends with %x, want %x", content[len(content)-16:], want)
	}
	if done, err = (Averaging{Files: []string{first, first}}).Write(out); err != nil || done.Kept != nil {
		t.Errorf("equal counters: %+v, error %v", done, err)
	}
}

func TestMeansThatAreRefused(t *testing.T) {
	w := func(name, dtype string, n int) []safetensors.Tensor {
		return []safetensors.Tensor{{Name: name, Type: dtype, Shape: []int{n}}}
	}
	good := stored(t, w("w", "F32", 2), floats("F32", 1, 2))
	for want, other := range map[string]string{
		"it lacks w, it has v beyond":        stored(t, w("v", "F32", 2), floats("F32", 1, 2)),
		"w has the shape [1], want [2]":      stored(t, w("w", "F32", 1), floats("F32", 1)),
		"tensor w has the dtype F64":         stored(t, w("w", "F64", 2), floats("F64", 1, 2)),
		"tensor w: element 1 is not a numbe": stored(t, w("w", "F32", 2), floats("F32", 1, math.NaN())),
	} {
		out := filepath.Join(t.TempDir(), "mean.safetensors")
		_, err := Averaging{Files: []string{good, other}}.Write(out)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), other) {
			t.Errorf("error %v, want one with %q and the file", err, want)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s: there is a file all the same", want)
		}
	}
	if _, err := (Averaging{}).Write(good); err == nil {
		t.Error("no files have a mean")
	}
}

func TestLayoutsThatDifferAreListed(t *testing.T) {
	a := []model.Param{{Name: "a", Shape: []int{2, 1}}, {Name: "b", Off: 2, Shape: []int{3}}}
	s := Saved{X: []float32{1, 2, 3, 4, 5}, Layout: a}
	if err := s.Match([]model.Param{a[1], a[0]}, "f", "m"); err != nil {
		t.Errorf("another order: %v", err)
	}
	y, err := s.Ordered([]model.Param{a[1], a[0]})
	if err != nil || !slices.Equal(y, []float32{3, 4, 5, 1, 2}) {
		t.Errorf("%v, error %v", y, err)
	}
	err = s.Match([]model.Param{{Name: "a", Shape: []int{1, 2}}, {Name: "c"}}, "f", "the model m")
	var differs *LayoutError
	if !errors.As(err, &differs) {
		t.Fatal(err)
	}
	const want = `f does not fit the model m: a has the shape [2, 1], want [1, 2], it lacks c, it has b beyond
  f has: a [2, 1], b [3]
  the model m has: a [1, 2], c []`
	if err.Error() != want {
		t.Errorf("%v\nwant\n%s", err, want)
	}
	s.X[3] = float32(math.Inf(1))
	if _, err := s.Ordered(a); err == nil || !strings.Contains(err.Error(), "tensor b: element 1 is +Inf") {
		t.Errorf("error %v", err)
	}
}

// A file from PyTorch may have other widths, and counters of batches.
func TestFilesOfOthersAreConverted(t *testing.T) {
	path := stored(t, []safetensors.Tensor{
		{Name: "d", Type: "F64", Shape: []int{1}}, {Name: "bn.num_batches_tracked", Type: "I64"},
		{Name: "h", Type: "F16", Shape: []int{2}}, {Name: "b", Type: "BF16", Shape: []int{1, 1}},
	}, floats("F64", 0.1), count(3), floats("F16", 0.5, -3), floats("BF16", 2))
	got, err := Read(path)
	if err != nil || !slices.Equal(got.X, []float32{0.1, 0.5, -3, 2}) || len(got.Layout) != 3 {
		t.Fatalf("%+v, error %v", got, err)
	}
	head, err := ReadLayout(path)
	if err != nil || head.X != nil || head.Match(got.Layout, "", "") != nil || head.Metadata["run"] != "a" {
		t.Errorf("%+v, error %v", head, err)
	}
	if _, err := ReadKnown(path, strings.Repeat("0", 64)); err == nil || !strings.Contains(err.Error(), "changed") {
		t.Errorf("a file with another hash: error %v", err)
	}
	whole := stored(t, []safetensors.Tensor{{Name: "n", Type: "I64", Shape: []int{1}}}, count(3))
	for _, read := range []func(string) (Saved, error){Read, ReadLayout} {
		if _, err := read(whole); err == nil || !strings.Contains(err.Error(), `"n": dtype "I64"`) {
			t.Errorf("whole numbers: error %v", err)
		}
	}
}

// The mean of a file with itself is the file, whatever it holds.
func FuzzAverage(f *testing.F) {
	f.Add(file(`{"a":{"dtype":"F16","shape":[2],"data_offsets":[0,4]}}`, 4))
	f.Add(file(`{"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},"n":{"dtype":"I64","shape":[],"data_offsets":[8,16]}}`,
		16))
	f.Add(file(`{"a":{"dtype":"BF16","shape":[0],"data_offsets":[0,0]}}`, 0))
	f.Fuzz(func(t *testing.T, content []byte) {
		dir := t.TempDir()
		path, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
		if err := os.WriteFile(path, content, 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := Averaging{Files: []string{path, path}}.Write(out)
		if err != nil {
			return
		}
		before, errBefore := Read(path)
		after, errAfter := Read(out)
		if (errBefore == nil) != (errAfter == nil) || !slices.Equal(before.X, after.X) {
			t.Errorf("%v, %v became %v, %v", before.X, errBefore, after.X, errAfter)
		}
	})
}
