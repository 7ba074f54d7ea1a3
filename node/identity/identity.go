// Package identity keeps a peer's secrets in files: its key pair and the join secret of a run.
//
// It reads, makes and claims files that only their owner may read. It neither listens nor dials:
// packages socket and handshake use its keys.
package identity

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"

	"gossiptrainer/internal/safefile"
)

// An Identity is the ed25519 key pair by which other peers know this one.
type Identity struct {
	key  crypto.PrivKey
	id   peer.ID
	path string         // "" for a key without a file
	lock *safefile.Lock // nil for a key that is not claimed
}

// A ClaimError says that this process cannot claim an identity, because another one has it.
type ClaimError struct {
	Path string
	Err  error
}

func (e *ClaimError) Error() string { return fmt.Sprintf("identity %s: %v", e.Path, e.Err) }

// Unwrap returns the cause.
func (e *ClaimError) Unwrap() error { return e.Err }

// Ephemeral makes an identity for the life of the process.
func Ephemeral() (*Identity, error) {
	key, _, err := crypto.GenerateEd25519Key(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("identity: %w", err)
	}
	return newIdentity(key)
}

// Create makes an identity and writes it to path with mode 0600, making folders as needed. It fails
// with fs.ErrExist if there is a file.
func Create(path string) (*Identity, error) {
	who, err := Ephemeral()
	if err != nil {
		return nil, err
	}
	raw, err := crypto.MarshalPrivateKey(who.key)
	if err != nil {
		return nil, fmt.Errorf("identity: %s: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("identity: %w", err)
	}
	if err := writeNew(path, raw); err != nil {
		return nil, fmt.Errorf("identity: %w", err)
	}
	who.path = path
	return who, nil
}

// Read reads the identity in path, without claiming it for a process. It refuses a key that others
// than the owner may read. Its errors are of type *SecretError.
func Read(path string) (*Identity, error) {
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
	who, err := newIdentity(key)
	if err == nil {
		who.path = path
	}
	return who, err
}

// Open reads the identity in path, or makes one if there is none. It claims the identity for this
// process until Close: two processes with one identity would take each other's place at their
// neighbours. If another process has it, Open fails with a *ClaimError.
func Open(path string) (*Identity, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("identity: %w", err)
	}
	lock, err := safefile.Acquire(path+".lock", 0o600)
	if held, ok := errors.AsType[*safefile.HeldError](err); ok {
		err = fmt.Errorf("%w: every peer needs an identity of its own: node.key names the file of another one", held)
	}
	if err != nil {
		return nil, &ClaimError{path, err}
	}
	who, err := Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		who, err = Create(path)
	}
	if err != nil {
		lock.Release()
		return nil, err
	}
	who.lock = lock
	return who, nil
}

// Key returns the private key.
func (who *Identity) Key() crypto.PrivKey { return who.key }

// Path returns the key's file, "" for a key without one.
func (who *Identity) Path() string { return who.path }

// Peer returns the peer id.
func (who *Identity) Peer() peer.ID { return who.id }

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
		return nil, fmt.Errorf("identity: %w", err)
	}
	return &Identity{key: key, id: id}, nil
}
