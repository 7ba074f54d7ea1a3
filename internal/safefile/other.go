//go:build !unix

package safefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

type pending struct {
	*os.File
	path string
	done bool
}

// New begins a file that will be at path.
func New(path string, perm fs.FileMode) (File, error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"*")
	if err != nil {
		return nil, err
	}
	if err := f.Chmod(perm); err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return &pending{File: f, path: path}, nil
}

// Commit puts the file in its place.
func (p *pending) Commit() error {
	if err := errors.Join(p.Sync(), p.Close()); err != nil {
		return err
	}
	if err := os.Rename(p.Name(), p.path); err != nil {
		return err
	}
	p.done = true
	return nil
}

// Cleanup removes the file unless it is in its place.
func (p *pending) Cleanup() error {
	if p.done {
		return nil
	}
	_ = p.Close() // may have been closed
	return os.Remove(p.Name())
}
