package dash

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"gossiptrainer/internal/record"
	"gossiptrainer/internal/safefile"
)

// chunk is how many bytes of a record are read at a time. It is more than the longest line.
const chunk = 2 << 20

// A tail reads the record of a run while it grows, each byte once. If the file is replaced or cut, as when a simulation
// goes back to a checkpoint, the tail begins again.
type tail struct {
	path string
	file *os.File
	at   int64  // of the next line
	size int64  // of the file, as last seen
	kept []byte // memory of chunks
}

func newTail(dir string) *tail { return &tail{path: filepath.Join(dir, record.EventsFile)} }

// A restartError says that the record is another one than before: the reader must forget the events so far.
type restartError struct{}

func (restartError) Error() string { return "the record begins again" }

// next calls see with the events of the next chunk. It reports whether there may be more. The error is a restartError
// if the record begins again.
func (t *tail) next(see func(record.Event)) (more bool, err error) {
	if err := t.reopen(); err != nil || t.file == nil {
		return false, err
	}
	if t.size == t.at {
		return false, nil
	}
	if t.kept == nil {
		t.kept = make([]byte, chunk)
	}
	n, err := t.file.ReadAt(t.kept, t.at)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("dash: %w", err)
	}
	lines := t.kept[:n]
	whole := bytes.LastIndexByte(lines, '\n') + 1
	if whole == 0 && n == len(t.kept) {
		return false, fmt.Errorf("dash: %s: byte %d: a line of more than %d bytes", t.path, t.at, chunk)
	}
	for e, err := range record.Scan(bytes.NewReader(lines[:whole])) {
		if err != nil {
			return false, fmt.Errorf("dash: %s: after byte %d: %w", t.path, t.at, err)
		}
		see(e)
	}
	t.at += int64(whole)
	if n < len(t.kept) {
		t.kept = nil // a short file needs no large memory
	}
	return n == chunk, nil
}

// reopen opens the file if there is one, and again if it was replaced.
func (t *tail) reopen() error {
	info, err := os.Stat(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("dash: %w", err)
	}
	if t.file != nil {
		open, err := t.file.Stat()
		if err == nil && os.SameFile(open, info) && info.Size() >= t.at {
			t.size = info.Size()
			return nil
		}
		t.close()
		return restartError{}
	}
	if t.file, err = safefile.Open(t.path); err != nil {
		return fmt.Errorf("dash: %w", err)
	}
	t.size = info.Size()
	return nil
}

// share returns the part of the record that is read, 0 to 1.
func (t *tail) share() float64 {
	if t.size == 0 {
		return 1
	}
	return float64(t.at) / float64(t.size)
}

// close forgets the file and its place.
func (t *tail) close() {
	if t.file != nil {
		_ = t.file.Close() // nothing was written
	}
	*t = tail{path: t.path}
}
