//go:build unix

package safefile

import (
	"io/fs"
	"path/filepath"

	"github.com/google/renameio/v2"
)

type pending struct{ *renameio.PendingFile }

// Commit puts the file in its place, durably.
func (p pending) Commit() error { return p.CloseAtomicallyReplace() }

// New begins a file that will be at path.
func New(path string, perm fs.FileMode) (File, error) {
	p, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)), renameio.WithPermissions(perm))
	if err != nil {
		return nil, err
	}
	return pending{p}, nil
}
