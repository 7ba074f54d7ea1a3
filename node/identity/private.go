package identity

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"gossiptrainer/internal/safefile"
)

// A SecretError says that a file with a key or a join secret cannot be used.
type SecretError struct {
	Path string
	Err  error
}

func (e *SecretError) Error() string { return fmt.Sprintf("identity: %s: %v", e.Path, e.Err) }

// Unwrap returns the cause.
func (e *SecretError) Unwrap() error { return e.Err }

// readPrivate reads a file that only its owner may read. It checks the mode of the open file, so
// another process cannot replace the file in between.
func readPrivate(path string) ([]byte, error) {
	f, err := safefile.Open(path)
	if err != nil {
		return nil, &SecretError{path, errors.Unwrap(err)} // so that the error names the path once
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, &SecretError{path, err}
	}
	if wide := info.Mode().Perm() & 0o077; wide != 0 && os.PathSeparator == '/' {
		return nil, &SecretError{path, fmt.Errorf("mode %04o lets others read it: run chmod 600 on it", info.Mode().Perm())}
	}
	if info.Size() > 1<<20 {
		return nil, &SecretError{path, errors.New("too long for a secret")}
	}
	text := make([]byte, info.Size())
	n, err := f.Read(text)
	if err != nil && n < len(text) {
		return nil, &SecretError{path, err}
	}
	return text[:n], nil
}

// writeNew makes the file in one step, complete or not at all.
func writeNew(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".key-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if err == nil {
		err = tmp.Sync()
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Link(tmp.Name(), path)
}
