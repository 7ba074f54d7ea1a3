// Package safefile has files that are safe beside other programs and crashes: they appear whole, they are locked, and
// nothing but regular files is opened.
//
// Write and New replace a file: readers find the old content or the new, also after a crash. They use google/renameio
// where that works. On Windows they rename the new file over the old one. A crash at that moment may lose both.
package safefile

import (
	"io"
	"io/fs"
)

// A File is a draft. Commit puts it in place. Cleanup deletes it unless Commit has
// succeeded, so callers may always defer it.
type File interface {
	io.Writer
	Cleanup() error
	Commit() error
}

// Write replaces the file at path with this content.
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
