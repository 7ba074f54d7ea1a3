package data

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSums(t *testing.T) {
	dir := t.TempDir()
	if _, err := Sums("libsvm", dir); !isMissing(err) {
		t.Errorf("error %v, want that files are missing", err)
	}
	var want []FileReport
	for _, name := range []string{libsvmTrain, libsvmTest} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("1 1:1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		want = append(want, FileReport{File: name, Path: path, Size: 6, SHA256: sum([]byte("1 1:1\n"))})
	}
	got, err := Sums("libsvm", dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got, err := Sums("glyphs", ""); len(got) > 0 || err != nil {
		t.Errorf("%d files of the built-in set, error %v", len(got), err)
	}
}

func isMissing(err error) bool {
	_, ok := errors.AsType[*MissingError](err)
	return ok
}
