package mux

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	library "github.com/libp2p/go-libp2p/p2p/muxer/yamux"
)

// A multiplexer makes sessions of this package.
type multiplexer struct{ Config Config }

func (m multiplexer) NewConn(c net.Conn, server bool, scope network.PeerScope) (network.MuxedConn, error) {
	return newSession(c, server, m.Config, scope), nil
}

var ours = multiplexer{Config{Window: 1 << 20, Streams: 4, KeepAlive: time.Minute, WriteTimeout: time.Minute}}

// sockets returns both ends of a connection over loopback.
func sockets(t testing.TB) (client, server net.Conn) {
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

// sessions returns the sessions of a connection, of two implementations.
func sessions(t testing.TB, one, other network.Multiplexer) (client, server network.MuxedConn) {
	t.Helper()
	a, b := sockets(t)
	var err error
	if client, err = one.NewConn(a, false, nil); err != nil {
		t.Fatal(err)
	}
	if server, err = other.NewConn(b, true, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); server.Close() })
	return client, server
}

// streams opens a stream and accepts it.
func streams(t testing.TB, from, to network.MuxedConn) (there, back network.MuxedStream) {
	t.Helper()
	there, err := from.OpenStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if back, err = to.AcceptStream(); err != nil {
		t.Fatal(err)
	}
	return there, back
}

// pairs are the ends that must understand each other.
var pairs = map[string][2]network.Multiplexer{
	"ours": {ours, ours}, "library": {ours, library.DefaultTransport}, "library dials": {library.DefaultTransport, ours},
}

// Several streams carry bytes both ways at once, far more than a window, in pieces of all lengths.
func TestStreamsCarryTheirBytes(t *testing.T) {
	for name, pair := range pairs {
		t.Run(name, func(t *testing.T) {
			client, server := sessions(t, pair[0], pair[1])
			var all sync.WaitGroup
			for i := range 3 {
				there, back := streams(t, []network.MuxedConn{client, server}[i%2], []network.MuxedConn{server, client}[i%2])
				for j, way := range [][2]network.MuxedStream{{there, back}, {back, there}} {
					bytesOf := mathrand.NewPCG(uint64(i), uint64(j))
					sent := make([]byte, 3<<20+i)
					for k := 0; k+8 <= len(sent); k += 8 {
						binary.LittleEndian.PutUint64(sent[k:], bytesOf.Uint64())
					}
					all.Go(func() { writeAll(t, way[0], sent, uint64(i)) })
					all.Go(func() { readAll(t, way[1], sent, uint64(j)) })
				}
			}
			all.Wait()
		})
	}
}

// writeAll writes in pieces of random lengths, then ends the stream.
func writeAll(t *testing.T, to network.MuxedStream, sent []byte, seed uint64) {
	lengths := mathrand.New(mathrand.NewPCG(seed, 7))
	for len(sent) > 0 {
		n := min(len(sent), 1+lengths.IntN(200_000))
		if k, err := to.Write(sent[:n]); k != n || err != nil {
			t.Errorf("%d of %d bytes written: %v", k, n, err)
			return
		}
		sent = sent[n:]
	}
	if err := to.CloseWrite(); err != nil {
		t.Error(err)
	}
}

// readAll compares the bytes that come with those that were sent.
func readAll(t *testing.T, from network.MuxedStream, sent []byte, seed uint64) {
	lengths := mathrand.New(mathrand.NewPCG(seed, 8))
	var got []byte
	for {
		p := make([]byte, 1+lengths.IntN(300_000))
		n, err := from.Read(p)
		got = append(got, p[:n]...)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Errorf("after %d bytes: %v", len(got), err)
			return
		}
	}
	if !bytes.Equal(got, sent) {
		t.Errorf("%d bytes arrived changed, of %d", len(got), len(sent))
	}
}

func TestResetsCarryTheirCode(t *testing.T) {
	for name, pair := range pairs {
		t.Run(name, func(t *testing.T) {
			client, server := sessions(t, pair[0], pair[1])
			there, back := streams(t, client, server)
			there.Write([]byte{1})
			io.ReadFull(back, make([]byte, 1))
			if err := there.ResetWithError(42); err != nil {
				t.Fatal(err)
			}
			_, err := back.Read(make([]byte, 1))
			why, ok := errors.AsType[*network.StreamError](err)
			if !ok || why.ErrorCode != 42 || !why.Remote || !errors.Is(err, network.ErrReset) {
				t.Errorf("the other end reads %v", err)
			}
			if _, err := there.Write([]byte{1}); !errors.Is(err, network.ErrReset) {
				t.Errorf("a write after a reset: %v", err)
			}
		})
	}
}

func TestTheEndOfASessionEndsItsStreams(t *testing.T) {
	for name, pair := range pairs {
		t.Run(name, func(t *testing.T) {
			client, server := sessions(t, pair[0], pair[1])
			there, back := streams(t, client, server)
			waiting := make(chan error, 2)
			for _, s := range []network.MuxedStream{there, back} {
				go func() { _, err := s.Read(make([]byte, 1)); waiting <- err }()
			}
			client.Close()
			for range 2 {
				if err := <-waiting; !errors.Is(err, network.ErrReset) {
					t.Errorf("a reader gets %v", err)
				}
			}
			if _, err := client.OpenStream(t.Context()); err == nil || !client.IsClosed() {
				t.Error("a stream of a closed session")
			}
		})
	}
}

func TestACodeEndsASession(t *testing.T) {
	client, server := sessions(t, ours, ours)
	there, _ := streams(t, client, server)
	server.CloseWithError(7)
	_, err := there.Read(make([]byte, 1))
	if why, ok := errors.AsType[*network.ConnError](err); !ok || why.ErrorCode != 7 || !why.Remote {
		t.Errorf("the reader gets %v", err)
	}
}

// Bytes that no reader wants fill the window and no more; then the writer waits until its deadline.
func TestAWindowBoundsTheBytesUnderWay(t *testing.T) {
	client, server := sessions(t, ours, ours)
	there, back := streams(t, client, server)
	there.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
	n, err := there.Write(make([]byte, 4<<20))
	if why, ok := errors.AsType[net.Error](err); !ok || !why.Timeout() || n != 1<<20 {
		t.Fatalf("%d bytes written, %v: want a window of %d and a timeout", n, err, 1<<20)
	}
	there.SetWriteDeadline(time.Time{})
	go there.Write(make([]byte, 1<<20))
	if _, err := io.ReadFull(back, make([]byte, 2<<20)); err != nil {
		t.Error(err)
	}
}

func TestDeadlinesMoveAndEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := net.Pipe()
		client, server := newSession(a, false, ours.Config, nil), newSession(b, true, ours.Config, nil)
		defer server.Close()
		defer client.Close()
		there, back := streams(t, client, server)
		began := time.Now()
		back.SetReadDeadline(began.Add(3 * time.Second))
		go func() {
			time.Sleep(time.Second)
			back.SetReadDeadline(began.Add(5 * time.Second))
		}()
		_, err := back.Read(make([]byte, 1))
		if why, ok := errors.AsType[net.Error](err); !ok || !why.Timeout() || time.Since(began) != 5*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		back.SetReadDeadline(time.Time{})
		go there.Write([]byte{9})
		if n, err := back.Read(make([]byte, 9)); n != 1 || err != nil {
			t.Errorf("after a deadline: %d bytes, %v", n, err)
		}
	})
}

// A session of which nothing is heard is probed. It ends only if the other end does not answer.
func TestSilentSessionsAreProbed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := net.Pipe()
		client, server := newSession(a, false, ours.Config, nil), newSession(b, true, ours.Config, nil)
		time.Sleep(10 * time.Minute)
		if client.IsClosed() || server.IsClosed() {
			t.Error("a session ended although its other end lives")
		}
		client.Close()
		server.Close()
		a, b = net.Pipe()
		go io.Copy(io.Discard, b)
		alone := newSession(a, false, ours.Config, nil)
		time.Sleep(ours.Config.KeepAlive + 2*ours.Config.WriteTimeout)
		if err := alone.reason(); !errors.Is(err, errUnanswered) {
			t.Errorf("a session without an answer: %v", err)
		}
		b.Close()
	})
}

// More streams than the bound are reset, and a closed one makes room.
func TestStreamsAreBounded(t *testing.T) {
	client, server := sessions(t, ours, ours)
	var open []network.MuxedStream
	for range ours.Config.Streams {
		there, _ := streams(t, client, server)
		open = append(open, there)
	}
	more, err := client.OpenStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := more.Read(make([]byte, 1)); !errors.Is(err, network.ErrReset) {
		t.Errorf("one stream too many reads %v", err)
	}
	open[0].Reset()
	there, back := streams(t, client, server)
	go there.Write([]byte{1})
	if _, err := back.Read(make([]byte, 1)); err != nil {
		t.Error(err)
	}
}

// Frames that break the protocol end the session.
func TestBrokenFramesEndTheSession(t *testing.T) {
	for name, frames := range map[string][]head{
		"version":            {{0: 1}},
		"kind":               {newHead(4, 0, 0, 0)},
		"parity":             {newHead(kindWindow, flagSYN, 2, 0)},
		"begun twice":        {newHead(kindWindow, flagSYN, 1, 0), newHead(kindWindow, flagSYN, 1, 0)},
		"more than a window": {newHead(kindWindow, flagSYN, 1, 0), newHead(kindData, 0, 1, 1<<31)},
		"too large a grant":  {newHead(kindWindow, flagSYN, 1, 1<<31), newHead(kindWindow, 0, 1, 1<<31)},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := sockets(t)
			s := newSession(b, true, ours.Config, nil)
			defer s.Close()
			for _, h := range frames {
				a.Write(h[:])
			}
			io.Copy(io.Discard, a) // to the end of the connection
			if err := s.reason(); !errors.Is(err, errProtocol) {
				t.Errorf("the session ended with %v", err)
			}
			a.Close()
		})
	}
}

// A caller that never reads and asks for answers all the time is cut off.
func TestAFloodOfPingsIsBounded(t *testing.T) {
	a, b := net.Pipe()
	s := newSession(b, true, ours.Config, nil)
	defer s.Close()
	h := newHead(kindPing, flagSYN, 0, 0)
	sent := 0
	for ; sent < 100*mostControls; sent++ {
		if _, err := a.Write(h[:]); err != nil {
			break
		}
	}
	if sent == 100*mostControls {
		t.Errorf("%d pings wait for their answers", sent)
	}
}

// FuzzSession feeds a session arbitrary bytes: it must end with the connection, without a panic.
func FuzzSession(f *testing.F) {
	syn, data := newHead(kindWindow, flagSYN, 1, 9), newHead(kindData, flagFIN, 1, 3)
	f.Add(append(append(syn[:], data[:]...), 1, 2, 3))
	f.Fuzz(func(t *testing.T, input []byte) {
		a, b := net.Pipe()
		s := newSession(b, true, ours.Config, nil)
		go io.Copy(io.Discard, a)
		go func() {
			for {
				stream, err := s.AcceptStream()
				if err != nil {
					return
				}
				go io.Copy(io.Discard, stream)
			}
		}()
		a.Write(input)
		a.Close()
		<-s.over
		s.Close()
	})
}

// BenchmarkStream compares the work per byte with that of the library, over plain sockets.
func BenchmarkStream(b *testing.B) {
	for _, name := range []string{"ours", "library"} {
		b.Run(name, func(b *testing.B) {
			pair := pairs[name]
			client, server := sessions(b, pair[1], pair[1])
			there, back := streams(b, client, server)
			message, place := make([]byte, 1<<20), make([]byte, 1<<20)
			rand.Read(message)
			b.SetBytes(int64(len(message)))
			b.ReportAllocs()
			failed := make(chan error, 1)
			go func() {
				for b.Loop() {
					if _, err := io.ReadFull(back, place); err != nil {
						failed <- fmt.Errorf("read: %w", err)
						return
					}
				}
				failed <- nil
				there.Reset()
			}()
			for {
				if _, err := there.Write(message); err != nil {
					break
				}
			}
			if err := <-failed; err != nil {
				b.Fatal(err)
			}
		})
	}
}
