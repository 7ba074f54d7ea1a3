package handshake

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

// An Admission holds the run and the secret that two peers prove to each other first, on every stream.
type Admission struct {
	Self   peer.ID
	Run    string
	Secret []byte // empty: the run's name is enough
}

// The layout of a challenge, little-endian: version u16, run (length u8, 64
// bytes), nonce.
const (
	nonceLen     = sha256.Size
	challengeLen = 2 + (1 + MaxRunID) + nonceLen
)

// Fixes for peers that prove nothing.
const (
	SameProgram = "install the same version of the program on all machines; peer version prints it"
	SameSecret  = "copy the same secret file to all machines of the run, with mode 0600"
)

// admit lets both ends prove that they take part in the same run and know its secret, without sending
// it. Each sends a nonce, then the HMAC of its own id, the other's, both nonces, the run and the
// session. The order of the ids prevents that a proof is sent back to its maker. The ids, which the
// handshake has verified, prevent that it is passed on.
func (t *Talk) admit(a *Admission) error {
	t.Stream.SetDeadline(time.Now().Add(Timeout))
	bound, err := socket.Session(t.Stream.Conn())
	if err != nil {
		return fmt.Errorf("admission: %w", err)
	}
	nonce := make([]byte, nonceLen)
	rand.Read(nonce)
	if err := t.Say(aboutNonce, a.challenge(nonce)); err != nil {
		return err
	}
	body, err := t.Expect(aboutNonce, challengeLen)
	if err != nil {
		return err
	}
	theirs, no := a.understand(body)
	if no != nil {
		return t.Refuse(no)
	}
	if err := t.Say(aboutProof, a.proof(a.Self, t.Peer, nonce, theirs, bound)); err != nil {
		return err
	}
	got, err := t.Expect(aboutProof, sha256.Size)
	if err != nil {
		return err
	}
	if !hmac.Equal(got, a.proof(t.Peer, a.Self, theirs, nonce, bound)) {
		no := Refusal(OtherSecret, "join secret differs")
		no.Advice = SameSecret
		return t.Refuse(no)
	}
	t.proven = true
	return nil
}

func (a *Admission) challenge(nonce []byte) []byte {
	dst := binary.LittleEndian.AppendUint16(nil, version)
	return append(appendPadded(dst, a.Run, MaxRunID), nonce...)
}

// otherVersion refuses a peer of another protocol version, in words for either end. The other end may be older and not
// know the fix, so the words have it.
func otherVersion(theirs uint16) *RefusedError {
	const words = "another protocol version: theirs is %d, ours %d: " + SameProgram
	no := Refusal(Protocol, words, theirs, version)
	no.There = fmt.Sprintf(words, version, theirs)
	return no
}

// understand reads the challenge of the other end.
func (a *Admission) understand(b []byte) (nonce []byte, no *RefusedError) {
	malformed := Refusal(Protocol, "malformed challenge")
	if len(b) < 2 {
		return nil, malformed
	}
	if v := binary.LittleEndian.Uint16(b); v != version {
		return nil, otherVersion(v)
	}
	if len(b) != challengeLen {
		return nil, malformed
	}
	run, nonce, ok := takePadded(b[2:], MaxRunID)
	if !ok {
		return nil, malformed
	}
	if run != a.Run {
		return nil, Refusal(OtherRun, "run differs: ours is %q, theirs %q", a.Run, run)
	}
	return nonce, nil
}

// proof returns the proof that prover sends to verifier. It hashes every part to a fixed length, so
// that no two lists of parts give the same bytes.
func (a *Admission) proof(prover, verifier peer.ID, own, other, session []byte) []byte {
	mac := hmac.New(sha256.New, a.Secret)
	parts := [][]byte{
		[]byte("gossiptrainer admission 2"), []byte(a.Run), []byte(prover), []byte(verifier), own, other, session,
	}
	for _, part := range parts {
		h := sha256.Sum256(part)
		mac.Write(h[:])
	}
	return mac.Sum(nil)
}
