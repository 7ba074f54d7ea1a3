package safefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// errNotRegular is wrapped where a name is that of a folder, a fifo, a socket or a device.
var errNotRegular = errors.New("not a regular file")

// Open opens a regular file for reading. Other programs may have changed the folder: a read from a fifo can wait for
// ever, and a device has no end.
func Open(path string) (*os.File, error) {
	if err := Check(path); err != nil {
		return nil, err
	}
	return os.Open(path)
}

// Check returns an error unless path is that of a regular file. It opens nothing,
// because to open a fifo is to wait for its other end.
func Check(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: errNotRegular}
	}
	return err
}

// Read returns the content of a regular file of at most limit bytes.
func Read(path string, limit int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("read %s: more than %d bytes", path, limit)
	}
	return text, err
}
