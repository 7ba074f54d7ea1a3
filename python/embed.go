// Package python holds gossip.py, the module through which training scripts take part in a run.
package python

import (
	_ "embed" // gossip.py is part of the program, so that both always have the same version
	"fmt"
	"path/filepath"

	"gossiptrainer/internal/atomicfile"
)

//go:embed gossip.py
var source []byte

// Install writes gossip.py into the folder dir, which exists, and returns an error that names the file
// otherwise. A script finds the module there if PYTHONPATH names the folder.
func Install(dir string) error {
	path := filepath.Join(dir, "gossip.py")
	if err := atomicfile.Write(path, source, 0o644); err != nil {
		return fmt.Errorf("python: %s: %w", path, err)
	}
	return nil
}
