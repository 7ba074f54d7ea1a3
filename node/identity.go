package node

import (
	"errors"

	"gossiptrainer/node/identity"
)

// An Identity is the ed25519 key pair by which other peers know this one, see package identity.
type Identity = identity.Identity

// A SecretError says that a file that holds a secret cannot be used, see package identity.
type SecretError = identity.SecretError

// CreateIdentity is identity.Create.
func CreateIdentity(path string) (*Identity, error) { return identity.Create(path) }

// ReadIdentity is identity.Read.
func ReadIdentity(path string) (*Identity, error) { return identity.Read(path) }

// OpenIdentity is identity.Open. An identity that another process has is a *NetworkError.
func OpenIdentity(path string) (*Identity, error) {
	who, err := identity.Open(path)
	if taken, ok := errors.AsType[*identity.ClaimError](err); ok {
		return nil, &NetworkError{Op: opJoin, Err: taken}
	}
	return who, err
}

// ReadSecret is identity.ReadSecret.
func ReadSecret(path string) (string, error) { return identity.ReadSecret(path) }

// CreateSecret is identity.CreateSecret.
func CreateSecret(path string) error { return identity.CreateSecret(path) }
