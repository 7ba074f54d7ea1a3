// Package python holds the Python package gossiptrainer, through which training scripts take part in a run.
package python

import (
	"embed" // the package is part of the program, so that both always have the same version
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"gossiptrainer/internal/safefile"
)

//go:embed gossiptrainer/*.py gossiptrainer/py.typed
var module embed.FS

//go:embed gossip.py
var short []byte

// Install writes the package into the folder dir, which exists, and returns an error that names the file otherwise. A
// script finds it there if PYTHONPATH names the folder.
func Install(dir string) error {
	if err := os.Mkdir(filepath.Join(dir, "gossiptrainer"), 0o755); err != nil && !os.IsExist(err) {
		return fmt.Errorf("python: %w", err)
	}
	return fs.WalkDir(module, "gossiptrainer", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := module.ReadFile(name)
		if err != nil {
			return fmt.Errorf("python: %w", err)
		}
		return write(filepath.Join(dir, filepath.FromSlash(name)), content)
	})
}

// InstallShort is Install, and writes gossip.py too, the package's short name. That name is another project's in the
// index of Python packages, so it belongs only into folders that hold nothing else.
func InstallShort(dir string) error {
	if err := Install(dir); err != nil {
		return err
	}
	return write(filepath.Join(dir, "gossip.py"), short)
}

func write(path string, content []byte) error {
	if err := safefile.Write(path, content, 0o644); err != nil {
		return fmt.Errorf("python: %s: %w", path, err)
	}
	return nil
}
