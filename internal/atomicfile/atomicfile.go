// Package atomicfile writes files that appear whole or not at all: a reader, or
// whoever comes after a crash, finds the old content or the new.
//
// It is google/renameio where that works. Elsewhere, on Windows, a file is
// renamed over the old one, which a crash at that moment may lose.
package atomicfile

import (
	"io"
	"io/fs"
)

// A File is one that has not appeared yet. Cleanup gives it up unless Commit has
// put it in its place; it may be called in any case.
type File interface {
	io.Writer
	Cleanup() error
	Commit() error
}

// Write puts a file with this content in place.
func Write(path string, content []byte, perm fs.FileMode) error {
	f, err := New(path, perm)
	if err != nil {
		return err
	}
	defer f.Cleanup()
	if _, err := f.Write(content); err != nil {
		return err
	}
	return f.Commit()
}
