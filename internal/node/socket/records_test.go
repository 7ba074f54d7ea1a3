package socket

import (
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/sec"
	libp2ptls "github.com/libp2p/go-libp2p/p2p/security/tls"
)

func newTestSealer(t testing.TB) *sealer {
	t.Helper()
	key, _, err := crypto.GenerateEd25519Key(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSealer(libp2ptls.ID, key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sealed connects two ends; the taps see and may change the bytes below the encryption.
func sealed(t testing.TB, tap func(net.Conn) net.Conn) (client, server *recordConn) {
	t.Helper()
	a, b, done := net.Conn(nil), net.Conn(nil), make(chan sec.SecureConn, 1)
	a, b = socketsOf(t)
	one, other := newTestSealer(t), newTestSealer(t)
	go func() {
		c, err := other.SecureInbound(t.Context(), b, "")
		if err != nil {
			t.Error(err)
		}
		done <- c
	}()
	c, err := one.SecureOutbound(t.Context(), tap(a), other.self)
	if err != nil {
		t.Fatal(err)
	}
	client, ours := c.(*recordConn)
	server, theirs := (<-done).(*recordConn)
	if !ours || !theirs {
		t.Skip("SKIPPED: this machine has no instructions for AES, and crypto/tls encrypts to the end")
	}
	t.Cleanup(func() { a.Close(); b.Close() })
	return client, server
}

func socketsOf(t testing.TB) (client, server net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if client, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return client, server
}

func untapped(c net.Conn) net.Conn { return c }

// exchange sends messages of several lengths both ways.
func exchange(t *testing.T, one, other io.ReadWriter) {
	t.Helper()
	for _, n := range []int{1, 12, recordLen - 1, recordLen, recordLen + 1, 64<<10 - 12, 1 << 20} {
		sent := make([]byte, n)
		rand.Read(sent)
		for _, way := range [][2]io.ReadWriter{{one, other}, {other, one}} {
			failed := make(chan error, 1)
			go func() { _, err := way[0].Write(sent); failed <- err }()
			got := make([]byte, n)
			if _, err := io.ReadFull(way[1], got); err != nil {
				t.Fatalf("%d bytes: %v", n, err)
			}
			if err := <-failed; err != nil || !bytes.Equal(got, sent) {
				t.Fatalf("%d bytes: written with %v, equal %v", n, err, bytes.Equal(got, sent))
			}
		}
	}
}

func TestRecordsCarryTheirBytes(t *testing.T) {
	client, server := sealed(t, untapped)
	exchange(t, client, server)
	client.mostOfKey = 2 // new keys with each message
	server.rekey.Store(true)
	exchange(t, client, server)
	if client.writes.seq > 70 || server.reads.seq != client.writes.seq {
		t.Errorf("keys are used for %d records, read as %d", client.writes.seq, server.reads.seq)
	}
	client.Close()
	if _, err := server.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("after the end: %v, want EOF", err)
	}
}

// The other end may be crypto/tls.
func TestRecordsAreThoseOfTLS(t *testing.T) {
	for name, client := range map[string]bool{"client": true, "server": false} {
		t.Run(name, func(t *testing.T) {
			a, b := socketsOf(t)
			defer b.Close()
			one, other := newTestSealer(t), newTestSealer(t)
			config, _ := other.identity.ConfigForPeer("")
			side, connect := tls.Server, one.SecureOutbound
			if !client {
				side, connect = tls.Client, one.SecureInbound
			}
			stock := side(b, config)
			failed := make(chan error, 1)
			go func() { failed <- stock.Handshake() }()
			c, err := connect(t.Context(), a, "")
			if err := errors.Join(err, <-failed); err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			exchange(t, c, stock)
			if r, ok := c.(*recordConn); ok {
				r.mostOfKey = 1
				exchange(t, c, stock)
			}
			stock.CloseWrite()
			if _, err := c.Read(make([]byte, 1)); err != io.EOF {
				t.Errorf("after the end: %v, want EOF", err)
			}
		})
	}
}

// A bender changes what its end writes.
type bender struct {
	net.Conn
	bend func([]byte) []byte
}

func (b *bender) Write(p []byte) (int, error) {
	if b.bend == nil {
		return b.Conn.Write(p)
	}
	_, err := b.Conn.Write(b.bend(bytes.Clone(p)))
	return len(p), err
}

func TestChangedRecordsAreRefused(t *testing.T) {
	for name, bend := range map[string]func(p []byte) []byte{
		"a bit of the bytes": func(p []byte) []byte { p[recordHead+3] ^= 1; return p },
		"a bit of the tag":   func(p []byte) []byte { p[len(p)-1] ^= 1; return p },
		"the length":         func(p []byte) []byte { p[4]--; return p[:len(p)-1] },
		"too long":           func(p []byte) []byte { p[3] = 0xff; return p },
		"the type":           func(p []byte) []byte { p[0] = typeAlert; return p },
		"twice":              func(p []byte) []byte { return append(p, p...) },
	} {
		t.Run(name, func(t *testing.T) {
			var tap *bender
			client, server := sealed(t, func(c net.Conn) net.Conn { tap = &bender{Conn: c}; return tap })
			tap.bend = bend
			client.Write([]byte("hello"))
			got := make([]byte, 5)
			_, err := io.ReadFull(server, got)
			if name == "twice" && err == nil {
				_, err = server.Read(got)
			}
			if !errors.Is(err, errRecord) {
				t.Errorf("read %q, %v", got, err)
			}
			if _, again := server.Read(got); again != err {
				t.Errorf("afterwards: %v", again)
			}
		})
	}
}

func TestCutOffRecordsAreNoEnd(t *testing.T) {
	var tap *bender
	client, server := sealed(t, func(c net.Conn) net.Conn { tap = &bender{Conn: c}; return tap })
	tap.bend = func(p []byte) []byte { return p[:len(p)-1] }
	client.Write([]byte("hello"))
	tap.Conn.Close()
	if _, err := server.Read(make([]byte, 5)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("after half a record: %v", err)
	}
}

// After a failed write no more bytes leave: the other end could not read them.
func TestAfterACutOffRecordNothingIsSent(t *testing.T) {
	client, _ := sealed(t, untapped)
	client.records.Conn.Close()
	if _, err := client.Write([]byte("lost")); err == nil {
		t.Fatal("a write to a closed socket succeeds")
	}
	before := client.writes.seq
	if err := client.flush(); err == nil || client.writes.seq != before {
		t.Errorf("a later write: %v", err)
	}
}

// A message of several records leaves in one call, in full records.
func TestRecordsOfAMessageLeaveTogether(t *testing.T) {
	var tap *bender
	client, _ := sealed(t, func(c net.Conn) net.Conn { tap = &bender{Conn: c}; return tap })
	var calls []int
	tap.bend = func(p []byte) []byte { calls = append(calls, len(p)); return p }
	if err := client.WriteBoth(make([]byte, 12), make([]byte, 64<<10-12)); err != nil {
		t.Fatal(err)
	}
	if len(calls) != 1 || calls[0] != 4*(recordLen+recordMore) {
		t.Errorf("calls of %v bytes, want one of %d", calls, 4*(recordLen+recordMore))
	}
}
