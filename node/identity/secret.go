package identity

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
)

// longestSecret bounds a join secret, in bytes: a longer file is no secret.
const longestSecret = 4096

// ReadSecret reads the join secret in path: the whole file without the end of its last line. It
// refuses a file that others than the owner may read, and a secret that CheckSecret refuses. Its errors are of type
// *SecretError.
func ReadSecret(path string) (string, error) {
	text, err := readPrivate(path)
	if err != nil {
		return "", err
	}
	text = bytes.TrimRight(text, "\r\n")
	if len(bytes.TrimSpace(text)) == 0 {
		return "", &SecretError{path, errors.New("the file holds no secret: remove it, then run peer id secret to make one")}
	}
	if len(text) > longestSecret {
		return "", &SecretError{path, fmt.Errorf("a join secret has 1 to %d bytes, got %d", longestSecret, len(text))}
	}
	if err := CheckSecret(string(text)); err != nil {
		return "", &SecretError{path, err}
	}
	return string(text), nil
}

// CreateSecret makes a join secret of 256 random bits and writes it to path with mode 0600. It fails
// with fs.ErrExist if there is a file.
func CreateSecret(path string) error {
	secret := make([]byte, 32)
	rand.Read(secret)
	if err := writeNew(path, fmt.Appendf(nil, "%x\n", secret)); err != nil {
		return fmt.Errorf("identity: join secret: %w", err)
	}
	return nil
}
