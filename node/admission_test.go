package node

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"
)

func TestProofIsBoundToEverything(t *testing.T) {
	a, b := peer.ID("a"), peer.ID("b")
	with := func(secret, run string) *admission { return &admission{run: run, secret: []byte(secret)} }
	n1, n2, bound := []byte("n1"), []byte("n2"), []byte("session")
	base := with("s", "run").proof(a, b, n1, n2, bound)
	if !slices.Equal(base, with("s", "run").proof(a, b, n1, n2, bound)) {
		t.Fatal("the same parts give another proof")
	}
	others := map[string][]byte{
		"the other direction": with("s", "run").proof(b, a, n2, n1, bound),
		"another verifier":    with("s", "run").proof(a, "c", n1, n2, bound),
		"another secret":      with("t", "run").proof(a, b, n1, n2, bound),
		"another run":         with("s", "rum").proof(a, b, n1, n2, bound),
		"another own nonce":   with("s", "run").proof(a, b, []byte("n3"), n2, bound),
		"another nonce":       with("s", "run").proof(a, b, n1, []byte("n3"), bound),
		"another session":     with("s", "run").proof(a, b, n1, n2, []byte("sessiom")),
		"no session":          with("s", "run").proof(a, b, n1, n2, nil),
		"parts cut elsewhere": with("s", "ru").proof("na", b, n1, n2, bound),
	}
	for name, other := range others {
		if slices.Equal(base, other) {
			t.Errorf("%s gives the same proof", name)
		}
	}
}

func TestASecretIsAskedForWhereThereIsARosterToo(t *testing.T) {
	c := both(t, func(rank int, o *Options) { o.JoinSecret = []string{"open sesame", "open barley"}[rank] })
	_, errs := c.run(t, t.Context(), task{n: 2, dim: 100, rounds: 3})
	for rank, err := range errs {
		var net *NetworkError
		if !errors.As(err, &net) || !strings.Contains(err.Error(), "join secret differs") {
			t.Errorf("worker %d: error %v, want that the secret differs", rank, err)
		}
	}
}

func FuzzChallenge(f *testing.F) {
	a := &admission{run: "run"}
	f.Add(a.challenge(make([]byte, nonceLen)))
	f.Add([]byte{2})
	f.Fuzz(func(t *testing.T, b []byte) {
		nonce, no := a.understand(b)
		if no == nil && !bytes.Equal(a.challenge(nonce), b) {
			t.Fatalf("%x is taken for a challenge", b)
		}
	})
}
