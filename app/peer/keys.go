package peer

import (
	"errors"
	"fmt"
	"io/fs"

	"gossiptrainer/app/advice"
	"gossiptrainer/node/identity"
)

// NewKey makes a key in a file that must not exist yet.
func NewKey(path string) (*identity.Identity, error) {
	who, err := identity.Create(path)
	if errors.Is(err, fs.ErrExist) {
		return nil, advice.Usage(fmt.Errorf("id: %s: the key exists already", path),
			advice.Command("peer", "id", "show", "--key", path))
	}
	return who, err
}

// ReadKey reads a key from a file that must exist.
func ReadKey(path string) (*identity.Identity, error) {
	who, err := identity.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, advice.Usage(fmt.Errorf("id: %s: no key there: peer id new makes one", path),
			advice.Command("peer", "id", "new", "--key", path))
	}
	return who, err
}

// NewSecret makes a join secret in a file that must not exist yet.
func NewSecret(path string) error {
	err := identity.CreateSecret(path)
	if errors.Is(err, fs.ErrExist) {
		return advice.Usage(fmt.Errorf("id: %s: the file exists already", path), "name another file, or use this one")
	}
	return err
}
