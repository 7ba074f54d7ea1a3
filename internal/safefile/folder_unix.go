//go:build unix

package safefile

import (
	"errors"
	"os"
)

// SyncFolder returns when the names in a folder are on disk.
func SyncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
