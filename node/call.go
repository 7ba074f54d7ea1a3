package node

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
)

// A call is the conversation with one peer during a roll call.
type call struct {
	talk  *talk
	lower bool // the smaller id has opened it
	out   chan func() error
	done  chan struct{}
	once  sync.Once
}

func newCall(t *talk, lower bool) *call {
	return &call{talk: t, lower: lower, out: make(chan func() error, 1), done: make(chan struct{})}
}

// tell leaves the ballot, or a refusal, for the writer; what it has not said
// yet is out of date. It is called under the roll call's lock.
func (c *call) tell(b ballot, no *RefusedError) {
	select {
	case <-c.out:
	default:
	}
	c.out <- func() error {
		if no != nil {
			return c.talk.sayNo(no) // the other end hangs up when it has read it
		}
		c.talk.stream.SetWriteDeadline(time.Now().Add(helloTime))
		return c.talk.say(aboutState, b.append(nil))
	}
}

// write says what is told to until the call ends.
func (c *call) write() {
	for {
		select {
		case say := <-c.out:
			if say() != nil {
				c.talk.stream.Reset()
				return
			}
		case <-c.done:
			return
		}
	}
}

func (c *call) hangUp() {
	c.once.Do(func() {
		close(c.done)
		c.talk.stream.Reset()
	})
}

// prove has both ends show that they know the secret, without telling it: each
// sends the HMAC of its own id, the other's, both nonces and the run. The order
// of the ids keeps a proof from being returned to who made it.
func (t *talk) prove(secret []byte, self peer.ID, run string) error {
	nonce := make([]byte, sha256.Size)
	rand.Read(nonce)
	if err := t.say(aboutNonce, nonce); err != nil {
		return err
	}
	theirs, err := t.expect(aboutNonce, len(nonce))
	if err != nil {
		return err
	}
	if err := t.say(aboutProof, proof(secret, run, self, t.peer, nonce, theirs)); err != nil {
		return err
	}
	got, err := t.expect(aboutProof, sha256.Size)
	if err != nil {
		return err
	}
	if !hmac.Equal(got, proof(secret, run, t.peer, self, theirs, nonce)) {
		return t.refuse(&RefusedError{Reason: OtherSecret, Detail: "join secret differs"})
	}
	return nil
}

// proof is what prover sends to verifier. Every part is hashed with a fixed
// length, so that no two lists of parts give the same bytes.
func proof(secret []byte, run string, prover, verifier peer.ID, own, other []byte) []byte {
	mac := hmac.New(sha256.New, secret)
	for _, part := range [][]byte{[]byte("gossiptrainer roll call 1"), []byte(run), []byte(prover), []byte(verifier), own, other} {
		h := sha256.Sum256(part)
		mac.Write(h[:])
	}
	return mac.Sum(nil)
}
