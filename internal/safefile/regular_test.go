package safefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestAFileIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("12345"), 0o666); err != nil {
		t.Fatal(err)
	}
	if text, err := Read(path, 5); err != nil || string(text) != "12345" {
		t.Errorf("%q, error %v, want 12345", text, err)
	}
	if _, err := Read(path, 4); err == nil {
		t.Error("a file of 5 bytes was read within 4")
	}
	if _, err := Read(path+"?", 4); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want fs.ErrNotExist", err)
	}
}

func TestAFolderIsNoRegularFile(t *testing.T) {
	if _, err := Open(t.TempDir()); !errors.Is(err, errNotRegular) {
		t.Errorf("error %v, want errNotRegular", err)
	}
}
