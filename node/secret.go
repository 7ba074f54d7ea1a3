package node

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"

	"gossiptrainer/internal/regular"
)

// A SecretError says that a file that holds a secret, a key or a join secret,
// cannot be used.
type SecretError struct {
	Path string
	Err  error
}

func (e *SecretError) Error() string { return fmt.Sprintf("node: %s: %v", e.Path, e.Err) }

// Unwrap returns the cause.
func (e *SecretError) Unwrap() error { return e.Err }

// longestSecret bounds a join secret, in bytes: what is longer is another file.
const longestSecret = 4096

// ReadSecret reads the join secret in path: all of the file, but for the end of
// its last line. A file that others than its owner may read is refused. Its
// errors are of type *SecretError.
func ReadSecret(path string) (string, error) {
	text, err := readPrivate(path)
	if err != nil {
		return "", err
	}
	text = bytes.TrimRight(text, "\r\n")
	if len(bytes.TrimSpace(text)) == 0 {
		return "", &SecretError{path, errors.New("there is no secret in the file: remove it, then peer id secret makes it")}
	}
	if len(text) > longestSecret {
		return "", &SecretError{path, fmt.Errorf("a join secret has 1 to %d bytes, got %d", longestSecret, len(text))}
	}
	return string(text), nil
}

// CreateSecret makes a join secret of 256 random bits and writes it to path with mode 0600. It fails with fs.ErrExist
// where there is a file.
func CreateSecret(path string) error {
	secret := make([]byte, 32)
	rand.Read(secret)
	if err := writeNew(path, fmt.Appendf(nil, "%x\n", secret)); err != nil {
		return fmt.Errorf("node: join secret: %w", err)
	}
	return nil
}

// readPrivate reads a file that nobody but its owner may read. What is judged is
// the file that is read.
func readPrivate(path string) ([]byte, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, &SecretError{path, errors.Unwrap(err)} // the path is named once
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
