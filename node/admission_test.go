package node

import (
	"bytes"
	"crypto/x509"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	libp2ptls "github.com/libp2p/go-libp2p/p2p/security/tls"
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

// Both ends of a connection have the same session, and no two connections have.
func TestTheSessionIsKnownToBothEnds(t *testing.T) {
	for name, test := range map[string]struct {
		change func(o *Options)
		bound  bool
	}{
		"tls":   {func(o *Options) {}, true},
		"quic":  {func(o *Options) { o.Transport, o.Listen = QUIC, []string{"/ip4/127.0.0.1/udp/0/quic-v1"} }, true},
		"noise": {func(o *Options) { o.Security = Noise }, false},
	} {
		t.Run(name, func(t *testing.T) {
			seen := make(map[string]bool)
			for range 2 {
				c := both(t, func(_ int, o *Options) { test.change(o) })
				first, second := c.nodes[0].host, c.nodes[1].host
				if err := first.Connect(t.Context(), peer.AddrInfo{ID: second.ID(), Addrs: second.Addrs()}); err != nil {
					t.Fatal(err)
				}
				eventually(t, "the other end", func() bool { return second.Network().Connectedness(first.ID()) == network.Connected })
				one, err := session(first.Network().ConnsToPeer(second.ID())[0])
				if err != nil {
					t.Fatal(err)
				}
				other, err := session(second.Network().ConnsToPeer(first.ID())[0])
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(one, other) || (len(one) == 32) != test.bound || test.bound && seen[string(one)] {
					t.Errorf("sessions %x and %x", one, other)
				}
				seen[string(one)] = true
			}
		})
	}
}

// A certificate says nothing of the clock of its machine.
func TestCertificatesAreValidAtAllTimes(t *testing.T) {
	who, err := EphemeralIdentity()
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSealer(libp2ptls.ID, who.key)
	if err != nil {
		t.Fatal(err)
	}
	config, _ := s.identity.ConfigForPeer("")
	leaf, err := x509.ParseCertificate(config.Certificates[0].Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	if now := time.Now(); leaf.NotBefore.After(now.AddDate(-50, 0, 0)) || leaf.NotAfter.Before(now.AddDate(500, 0, 0)) {
		t.Errorf("valid from %v to %v", leaf.NotBefore, leaf.NotAfter)
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
