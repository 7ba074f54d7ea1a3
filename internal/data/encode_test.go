package data

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gossiptrainer/model/sample"
)

// written writes a file of a test, and returns its path.
func written(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// Texts become columns of 0 and 1, and a missing number the mean of its column, which is 0 once it is scaled.
func TestTextsAndMissingValuesAreEncoded(t *testing.T) {
	names := "name;size;colour;kind\n"
	for i := range 70 {
		names += fmt.Sprintf("n%d;%d,5;%s;%s\n", i, i%3, []string{"red", "blue", "NA"}[i%3], []string{"x", "y"}[i%2])
	}
	names += "last;;red;x\n"
	sources, err := OpenFiles([]FileSpec{{Path: written(t, "a.csv", names), TestShare: 0.2, Standardise: true,
		Columns: Columns{Encode: true}}})
	if err != nil {
		t.Fatal(err)
	}
	info := sources[0].Info
	if want := []string{"size", "colour=blue", "colour=red"}; !slices.Equal(info.Table.Columns, want) {
		t.Fatalf("columns %q, want %q", info.Table.Columns, want)
	}
	told := fmt.Sprint(sources[0].Notes)
	for _, want := range []string{"1 value is missing", "column 1 (name) is left out: it has more than 64 texts"} {
		if !strings.Contains(told, want) {
			t.Errorf("%s does not say %q", told, want)
		}
	}
	seen := map[string]int{}
	train, err := sources[0].Train(nil)
	if err != nil {
		t.Fatal(err)
	}
	test, err := sources[0].Test()
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range []Set{train, test} {
		x := make([]float32, set.Shape.Features())
		for i := range set.Len() {
			set.Sample(x, i)
			back := make([]string, len(x))
			for k, v := range x {
				back[k] = fmt.Sprintf("%.1f", math.Abs(float64(v)*info.Norm.Std[k]+info.Norm.Mean[k]))
			}
			seen[strings.Join(back, " ")]++
		}
	}
	mean := fmt.Sprintf("%.1f 0.0 1.0", info.Norm.Mean[0])
	want := map[string]int{"0.5 0.0 1.0": 24, "1.5 1.0 0.0": 23, "2.5 0.0 0.0": 23}
	want[mean]++
	if fmt.Sprint(seen) != fmt.Sprint(want) {
		t.Errorf("rows %v, want %v", seen, want)
	}
}

// A test file and new samples have the columns of the file to train on; a text that it lacks is refused.
func TestEncodedColumnsAreThoseOfTheTraining(t *testing.T) {
	train := written(t, "train.csv", "colour,kind\nred,x\nblue,y\nred,x\nblue,y\n")
	open := func(test string) ([]*Source, error) {
		return OpenFiles([]FileSpec{{Path: train, Test: written(t, "test.csv", test), Standardise: true,
			Columns: Columns{Label: "kind", Encode: true}}})
	}
	if _, err := open("kind,colour\nx,red\n"); err != nil {
		t.Error(err)
	}
	const unknown = `"pink" is none of the texts that the column had: blue, red`
	if _, err := open("colour,kind\nred,x\npink,y\n"); err == nil || !strings.Contains(err.Error(), unknown) {
		t.Errorf("error %v, want %s", err, unknown)
	}
	sources, err := open("colour,kind\nred,x\n")
	if err != nil {
		t.Fatal(err)
	}
	info := sources[0].Info
	model := &Trained{Table: info.Table, Classes: info.Classes, Shape: info.Shape, Norm: info.Norm}
	for text, want := range map[string]string{
		"colour\nblue\n\n": "", "other,colour\n1,red\n": "", "colour\npink\n": unknown,
		"shade,b\nred,1\n": "there is no column colour=blue or colour=red among shade, b",
	} {
		s, err := OpenSamples(FileSpec{Path: written(t, "new.csv", text), Standardise: true,
			Columns: Columns{Encode: true}, Trained: model})
		if err == nil {
			err = s.Batches(1, func(sample.Batch) error { return nil })
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}
