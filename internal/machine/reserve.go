package machine

import (
	"errors"
	"os"
	"path/filepath"
	"sync"

	"gossiptrainer/internal/safefile"
)

// A Reserve is room on a disk that a process sets aside for later. The room is free again when the process ends,
// however that happens. A nil Reserve has no room.
type Reserve struct {
	dir   string
	bytes int64

	mu   sync.Mutex
	file *os.File // nil: no room is set aside
}

// NewReserve returns a reserve of a number of bytes on the disk of a folder. Take sets them aside.
func NewReserve(dir string, bytes int64) *Reserve { return &Reserve{dir: dir, bytes: bytes} }

// Take sets the room aside, unless that is done.
func (r *Reserve) Take() error {
	if r == nil || r.bytes == 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file != nil {
		return nil
	}
	file, err := os.CreateTemp(r.dir, ".reserved-*")
	if err != nil {
		return err
	}
	// A file without a name keeps its room until it is closed. Where names of open files cannot go, it goes later.
	_ = os.Remove(file.Name())
	if err := safefile.Fill(file, r.bytes); err != nil {
		return errors.Join(err, discard(file))
	}
	r.file = file
	return nil
}

// Release frees the room.
func (r *Reserve) Release() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file != nil {
		_ = discard(r.file) // nothing is in it
		r.file = nil
	}
}

func discard(file *os.File) error {
	err := file.Close()
	_ = os.Remove(file.Name()) // it is gone where the name of an open file can go
	return err
}

// Nearest returns dir, or the first folder above it that exists.
func Nearest(dir string) string {
	for {
		_, err := os.Stat(dir)
		above := filepath.Dir(dir)
		if err == nil || above == dir {
			return dir
		}
		dir = above
	}
}
