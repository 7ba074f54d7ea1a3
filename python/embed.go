// Package python holds the Python package gossiptrainer, through which training scripts take part in a run.
package python

import (
	"bytes"
	"embed" // the package is part of the program, so that both always have the same version
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"gossiptrainer/internal/safefile"
)

//go:embed gossiptrainer/*.py gossiptrainer/py.typed gossip.py
var files embed.FS

// Install writes the package into the folder dir, which exists, and returns an error that names the file otherwise. A
// script finds it there if PYTHONPATH names the folder. Files with the right content stay.
func Install(dir string) error { return install(dir, "gossiptrainer") }

// InstallShort is Install, and writes gossip.py too, the package's short name. That name is another project's in the
// index of Python packages, so it belongs only into folders that hold nothing else.
func InstallShort(dir string) error { return install(dir, ".") }

// Lend writes what InstallShort does into an empty folder that is removed with the process that asks. It does not wait
// for the disk, as no process reads the files after a crash of the machine.
func Lend(dir string) error {
	if err := os.CopyFS(dir, files); err != nil {
		return fmt.Errorf("python: %w", err)
	}
	return nil
}

// install writes the files below root.
func install(dir, root string) error {
	return fs.WalkDir(files, root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		if entry.IsDir() {
			if err := os.Mkdir(path, 0o755); err != nil && !os.IsExist(err) {
				return fmt.Errorf("python: %w", err)
			}
		} else if err := write(path, name); err != nil {
			return fmt.Errorf("python: %s: %w", path, err)
		}
		return nil
	})
}

// write writes a file unless it has the content already.
func write(path, name string) error {
	content, err := files.ReadFile(name)
	if err != nil {
		return err
	}
	if old, err := safefile.Read(path, int64(len(content))+1); err == nil && bytes.Equal(old, content) {
		return nil
	}
	return safefile.Write(path, content, 0o644)
}
