package safefile

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAppearsWholeOrNotAtAll(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := Write(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := New(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("half of the n")); err != nil {
		t.Fatal(err)
	}
	if err := f.Cleanup(); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "old" {
		t.Errorf("%q, error %v after a file was given up, want the old one", text, err)
	}
	if err := Write(path, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	info, _ := os.Stat(path)
	if err != nil || string(text) != "new" || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%q with mode %v, error %v, want the new one for its owner", text, info.Mode(), err)
	}
	if files, _ := os.ReadDir(filepath.Dir(path)); len(files) != 1 {
		t.Errorf("%d files left, want 1", len(files))
	}
}

func TestNowhereToWrite(t *testing.T) {
	if err := Write(filepath.Join(t.TempDir(), "no", "folder"), nil, 0o644); err == nil {
		t.Error("written into a folder that is not there")
	}
}
