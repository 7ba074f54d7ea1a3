package runfolder

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gossiptrainer/internal/record"
)

// touch makes an empty file with its folders.
func touch(t *testing.T, path ...string) string {
	t.Helper()
	name := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestRunsBelowAFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "[odd]*")
	touch(t, dir, "a", record.EventsFile)
	touch(t, dir, "b", "deep", record.EventsFile)
	touch(t, dir, "fig", "cells", "slow-1", "run", record.EventsFile)
	touch(t, dir, "fig", "cells", "slow-1", "x-2", record.EventsFile)
	if err := os.MkdirAll(filepath.Join(dir, "c", record.EventsFile), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		dir  string
		kind Kind
		want []Place
	}{
		{dir, Several, []Place{{"a", filepath.Join(dir, "a")}}},
		{filepath.Join(dir, "a"), OneRun, []Place{{"a", filepath.Join(dir, "a")}}},
		{filepath.Join(dir, "fig"), Cells, []Place{
			{"slow-1", filepath.Join(dir, "fig", "cells", "slow-1", "run")},
			{"slow-1-x-2", filepath.Join(dir, "fig", "cells", "slow-1", "x-2")},
		}},
		{filepath.Join(dir, "c"), Several, nil},
	} {
		got, kind, err := Below(test.dir)
		if err != nil || kind != test.kind || len(got) != len(test.want) {
			t.Errorf("%s: %v of kind %d, error %v, want %v", test.dir, got, kind, err, test.want)
			continue
		}
		for i := range got {
			if got[i] != test.want[i] {
				t.Errorf("%s: %v, want %v", test.dir, got[i], test.want[i])
			}
		}
	}
	if _, _, err := Below(filepath.Join(dir, "none")); !os.IsNotExist(err) {
		t.Errorf("error %v", err)
	}
}

func TestTheBeginOfARun(t *testing.T) {
	dir := t.TempDir()
	want := time.Date(2026, 11, 23, 12, 0, 5, 0, time.UTC)
	for _, name := range []string{"ring-20261123-120005", "ring-20261123-120005-3"} {
		if got, err := Began(filepath.Join(dir, name)); err != nil || !got.Equal(want) {
			t.Errorf("%s began %v, error %v", name, got, err)
		}
	}
	file := touch(t, dir, "run", RunFile)
	if err := os.Chtimes(file, want, want); err != nil {
		t.Fatal(err)
	}
	if got, err := Began(filepath.Join(dir, "run")); err != nil || !got.Equal(want) {
		t.Errorf("a cell began %v, error %v", got, err)
	}
	if _, err := Began(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

func TestAFolderInUse(t *testing.T) {
	dir := t.TempDir()
	state := func(when string, want bool) {
		t.Helper()
		if held, err := InUse(dir); err != nil || held != want {
			t.Errorf("%s: in use is %v, error %v", when, held, err)
		}
	}
	state("before", false)
	lock, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	state("while it is locked", true)
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	state("after", false)
}
