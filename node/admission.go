package node

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"gossiptrainer/node/socket"
)

// An admission is what two peers show each other before anything else is said
// or understood, on every stream of this package.
type admission struct {
	self   peer.ID
	run    string
	secret []byte // empty: who knows the run's name belongs
}

// The layout of a challenge, little-endian: version u16, run (length u8, 64
// bytes), nonce.
const (
	nonceLen     = sha256.Size
	challengeLen = 2 + (1 + maxRunID) + nonceLen
)

// admit has both ends show that they take part in the same run and know its
// secret, without telling it: each sends a nonce, then the HMAC of its own id,
// the other's, both nonces, the run and the session. The order of the ids keeps
// a proof from being returned to who made it; the ids, which the handshake has
// verified, keep it from being passed on.
func (t *talk) admit(a *admission) error {
	t.stream.SetDeadline(time.Now().Add(helloTime))
	bound, err := socket.Session(t.stream.Conn())
	if err != nil {
		return fmt.Errorf("admission: %w", err)
	}
	nonce := make([]byte, nonceLen)
	rand.Read(nonce)
	if err := t.say(aboutNonce, a.challenge(nonce)); err != nil {
		return err
	}
	body, err := t.expect(aboutNonce, challengeLen)
	if err != nil {
		return err
	}
	theirs, no := a.understand(body)
	if no != nil {
		return t.refuse(no)
	}
	if err := t.say(aboutProof, a.proof(a.self, t.peer, nonce, theirs, bound)); err != nil {
		return err
	}
	got, err := t.expect(aboutProof, sha256.Size)
	if err != nil {
		return err
	}
	if !hmac.Equal(got, a.proof(t.peer, a.self, theirs, nonce, bound)) {
		return t.refuse(&RefusedError{Reason: OtherSecret, Detail: "join secret differs"})
	}
	return nil
}

func (a *admission) challenge(nonce []byte) []byte {
	dst := binary.LittleEndian.AppendUint16(nil, version)
	return append(appendPadded(dst, a.run, maxRunID), nonce...)
}

// understand reads the challenge of the other end.
func (a *admission) understand(b []byte) (nonce []byte, no *RefusedError) {
	malformed := &RefusedError{Reason: Protocol, Detail: "malformed challenge"}
	if len(b) < 2 {
		return nil, malformed
	}
	if v := binary.LittleEndian.Uint16(b); v != version {
		return nil, &RefusedError{Reason: Protocol, Detail: fmt.Sprintf("another protocol version: theirs is %d, ours %d", v, version)}
	}
	if len(b) != challengeLen {
		return nil, malformed
	}
	run, nonce, ok := takePadded(b[2:], maxRunID)
	if !ok {
		return nil, malformed
	}
	if run != a.run {
		return nil, &RefusedError{Reason: OtherRun, Detail: fmt.Sprintf("run differs: ours is %q, theirs %q", a.run, run)}
	}
	return nonce, nil
}

// proof is what prover sends to verifier. Every part is hashed to a fixed
// length, so that no two lists of parts give the same bytes.
func (a *admission) proof(prover, verifier peer.ID, own, other, session []byte) []byte {
	mac := hmac.New(sha256.New, a.secret)
	for _, part := range [][]byte{[]byte("gossiptrainer admission 2"), []byte(a.run), []byte(prover), []byte(verifier), own, other, session} {
		h := sha256.Sum256(part)
		mac.Write(h[:])
	}
	return mac.Sum(nil)
}
