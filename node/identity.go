package node

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"

	"gossiptrainer/internal/lockfile"
)

// An Identity is the ed25519 key pair by which other peers know this one.
type Identity struct {
	key  crypto.PrivKey
	id   peer.ID
	lock *lockfile.Lock // nil: nothing to guard
}

// EphemeralIdentity makes an identity that lives as long as the process.
func EphemeralIdentity() (*Identity, error) {
	key, _, err := crypto.GenerateEd25519Key(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("node: identity: %w", err)
	}
	return newIdentity(key)
}

// CreateIdentity makes an identity and writes it to path with mode 0600,
// making folders as needed. It fails with fs.ErrExist where there is one.
func CreateIdentity(path string) (*Identity, error) {
	who, err := EphemeralIdentity()
	if err != nil {
		return nil, err
	}
	raw, err := crypto.MarshalPrivateKey(who.key)
	if err != nil {
		return nil, fmt.Errorf("node: identity: %s: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("node: identity: %w", err)
	}
	if err := writeNew(path, raw); err != nil {
		return nil, fmt.Errorf("node: identity: %w", err)
	}
	return who, nil
}

// ReadIdentity reads the identity in path, without claiming it for a process.
// A key that others than the owner may read is refused. Its errors are of type
// *SecretError.
func ReadIdentity(path string) (*Identity, error) {
	raw, err := readPrivate(path)
	if err != nil {
		return nil, err
	}
	key, err := crypto.UnmarshalPrivateKey(raw)
	if err != nil {
		return nil, &SecretError{path, fmt.Errorf("no key file: %w", err)}
	}
	if key.Type() != crypto.Ed25519 {
		return nil, &SecretError{path, fmt.Errorf("a %v key, not Ed25519", key.Type())}
	}
	return newIdentity(key)
}

// OpenIdentity reads the identity in path, or makes one where there is none,
// and claims it for this process until Close: two processes with one identity
// would take each other's place at their neighbours. That is a *NetworkError.
func OpenIdentity(path string) (*Identity, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("node: identity: %w", err)
	}
	lock, err := lockfile.Acquire(path+".lock", 0o600)
	if held, ok := errors.AsType[*lockfile.HeldError](err); ok {
		err = fmt.Errorf("%w: every peer needs an identity of its own: node.key names the file of another", held)
	}
	if err != nil {
		return nil, &NetworkError{Op: opJoin, Err: fmt.Errorf("identity %s: %w", path, err)}
	}
	who, err := ReadIdentity(path)
	if errors.Is(err, fs.ErrNotExist) {
		who, err = CreateIdentity(path)
	}
	if err != nil {
		lock.Release()
		return nil, err
	}
	who.lock = lock
	return who, nil
}

// ID returns the peer id, in its usual text form.
func (who *Identity) ID() string { return who.id.String() }

// Close gives up the claim on the key file.
func (who *Identity) Close() error {
	if who.lock == nil {
		return nil
	}
	return who.lock.Release()
}

func newIdentity(key crypto.PrivKey) (*Identity, error) {
	id, err := peer.IDFromPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("node: identity: %w", err)
	}
	return &Identity{key: key, id: id}, nil
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
