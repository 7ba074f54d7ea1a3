package socket

import (
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
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
func sealed(t testing.TB, tap func(net.Conn) net.Conn) (client, server *sealedConn) {
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
	t.Cleanup(func() { a.Close(); b.Close() })
	return c.(*sealedConn), (<-done).(*sealedConn)
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
	for _, n := range []int{1, 12, 16<<10 - 1, 16 << 10, 16<<10 + 1, 64<<10 - 12, 1 << 20} {
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

func TestSealedConnectionsCarryTheirBytes(t *testing.T) {
	client, server := sealed(t, untapped)
	exchange(t, client, server)
	client.Close()
	if _, err := server.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("after the end: %v, want EOF", err)
	}
}

func TestTheOtherEndMayBeTLSAsItComes(t *testing.T) {
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
			stock.CloseWrite()
			if _, err := c.Read(make([]byte, 1)); err != io.EOF {
				t.Errorf("after the end: %v, want EOF", err)
			}
		})
	}
}

// A spy sees what its end writes to the socket.
type spy struct {
	net.Conn
	see func(p []byte) error
}

func (s *spy) Write(p []byte) (int, error) {
	if s.see != nil {
		if err := s.see(p); err != nil {
			return 0, err
		}
	}
	return s.Conn.Write(p)
}

// spied connects two ends; the function sees the writes of the client after the handshake.
func spied(t *testing.T, see func(p []byte) error) (client, server *sealedConn) {
	var s *spy
	client, server = sealed(t, func(c net.Conn) net.Conn { s = &spy{Conn: c}; return s })
	s.see = see
	return client, server
}

// Where half a record was written, later bytes are useless to the other end.
func TestAfterAFailedWriteNothingIsSent(t *testing.T) {
	calls, lost := 0, errors.New("lost")
	client, _ := spied(t, func([]byte) error { calls++; return lost })
	for range 2 {
		if _, err := client.Write([]byte("hello")); !errors.Is(err, lost) {
			t.Errorf("a write fails with %v, want %v", err, lost)
		}
	}
	if client.Close(); calls != 1 {
		t.Errorf("%d calls, want 1", calls)
	}
}

// A message of several records leaves in one call; a longer one in few.
func TestRecordsOfAMessageLeaveTogether(t *testing.T) {
	var calls []int
	client, server := spied(t, func(p []byte) error { calls = append(calls, len(p)); return nil })
	go io.Copy(io.Discard, server)
	for bytes, want := range map[int]int{1: 1, 64 << 10: 1, 1 << 20: 17} {
		calls = nil
		if _, err := client.Write(make([]byte, bytes)); err != nil {
			t.Fatal(err)
		}
		if len(calls) > want || slices.Max(calls) > gatherLen {
			t.Errorf("%d bytes leave by calls of %v, want at most %d of %d", bytes, calls, want, gatherLen)
		}
	}
}

// A write that the other end does not take holds up no Close.
func TestCloseEndsAWrite(t *testing.T) {
	writes, stop := make(chan bool, 1), make(chan bool)
	client, _ := spied(t, func([]byte) error { writes <- true; <-stop; return net.ErrClosed })
	failed := make(chan error, 1)
	go func() { _, err := client.Write([]byte("hello")); failed <- err }()
	<-writes
	closed := make(chan bool)
	go func() { client.Close(); close(closed) }()
	if _, err := client.socket.Conn.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the socket: %v, want closed", err)
	}
	close(stop)
	if err := <-failed; !errors.Is(err, net.ErrClosed) {
		t.Errorf("the write ends with %v", err)
	}
	<-closed
}
