package export

import (
	"errors"
	"os"
)

// A draft is a file that grows by pieces. It is open only while a piece is written: a run may have more workers than a
// process may have files.
type draft struct {
	path    string
	waiting []byte
	most    int // bytes that wait
}

// Bounds of the bytes that wait in all drafts of a run, and in one.
const (
	mostInAll = 16 << 20
	mostInOne = 64 << 10
	leastOf   = 1 << 10
)

// newDraft returns the draft of one of some files that grow together.
func newDraft(path string, files int) *draft {
	return &draft{path: path, most: max(leastOf, min(mostInOne, mostInAll/max(files, 1)))}
}

// append lets add append to what waits.
func (d *draft) append(add func(waiting []byte) []byte) error {
	if d.waiting = add(d.waiting); len(d.waiting) < d.most {
		return nil
	}
	return d.flush()
}

// flush writes what waits. It makes the file even if nothing does.
func (d *draft) flush() error {
	f, err := os.OpenFile(d.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(d.waiting)
	d.waiting = d.waiting[:0]
	return errors.Join(err, f.Close())
}
