package socket

import (
	"bytes"
	"crypto/rand"
	"crypto/x509"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	libp2ptls "github.com/libp2p/go-libp2p/p2p/security/tls"
)

// listening starts a host on loopback; change may alter its configuration.
func listening(t testing.TB, change func(c *Config)) *Host {
	t.Helper()
	key, _, err := crypto.GenerateEd25519Key(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Key: key, Listen: []string{"/ip4/127.0.0.1/tcp/0"}, Workers: 2}
	if change != nil {
		change(&c)
	}
	h, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// connected connects two hosts and returns the connection of each end.
func connected(t testing.TB, first, second *Host) (there, back network.Conn) {
	t.Helper()
	if err := first.Connect(t.Context(), peer.AddrInfo{ID: second.ID(), Addrs: second.Addrs()}); err != nil {
		t.Fatal(err)
	}
	soon(t, "the other end", func() bool { return second.Network().Connectedness(first.ID()) == network.Connected })
	return first.Network().ConnsToPeer(second.ID())[0], second.Network().ConnsToPeer(first.ID())[0]
}

// soon waits for an event in other goroutines.
func soon(t testing.TB, what string, happened func() bool) {
	t.Helper()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for range 12_000 { // two minutes: a machine may be busy
		if happened() {
			return
		}
		<-look.C
	}
	t.Fatalf("%s: did not happen", what)
}

// Both ends of a connection have the same session, and no two connections have.
func TestTheSessionIsKnownToBothEnds(t *testing.T) {
	for name, test := range map[string]struct {
		change func(c *Config)
		bound  bool
	}{
		"tls":   {func(c *Config) {}, true},
		"quic":  {func(c *Config) { c.Transport, c.Listen = QUIC, []string{"/ip4/127.0.0.1/udp/0/quic-v1"} }, true},
		"none":  {unencrypted, true},
		"noise": {func(c *Config) { c.Security = Noise }, false},
	} {
		t.Run(name, func(t *testing.T) {
			seen := make(map[string]bool)
			for range 2 {
				there, back := connected(t, listening(t, test.change), listening(t, test.change))
				one, err := Session(there)
				if err != nil {
					t.Fatal(err)
				}
				other, err := Session(back)
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

// A certificate does not depend on the clock of its machine.
func TestCertificatesAreValidAtAllTimes(t *testing.T) {
	key, _, err := crypto.GenerateEd25519Key(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSealer(libp2ptls.ID, key)
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
