package socket

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"

	"gossiptrainer/internal/shape"
)

// pipeConn makes one end of a net.Pipe a connection of libp2p.
type pipeConn struct{ net.Conn }

func (pipeConn) LocalMultiaddr() ma.Multiaddr  { return nil }
func (pipeConn) RemoteMultiaddr() ma.Multiaddr { return nil }

// dreamed returns a shaper that uses the time of a synctest bubble.
func dreamed(n shape.Network) *shaper {
	s := newShaper(n, false)
	s.alarms = newRuntimeAlarm
	return s
}

// shapedPipe returns the ends of a connection. One of them is shaped.
func shapedPipe(l shape.Link) (shaped manet.Conn, far net.Conn) {
	a, b := net.Pipe()
	s := dreamed(shape.Network{Uplink: l})
	return s.shape(pipeConn{a}, func() peer.ID { return "" }), b
}

// hangUp closes both ends and waits until the shaped one has given up.
func hangUp(shaped, far net.Conn) {
	shaped.Close()
	far.Close()
	<-time.After(lastWords)
}

func TestShapedBytesArriveInTime(t *testing.T) {
	for name, test := range map[string]struct {
		link  shape.Link
		bytes int
		want  time.Duration
	}{
		"one megabit": {shape.Link{Rate: 1e6, Latency: time.Millisecond}, 125_000, time.Second + time.Millisecond},
		"a gigabit": {
			shape.Link{Rate: 1e9, Latency: 20 * time.Millisecond}, 125_000_000, time.Second + 20*time.Millisecond,
		},
		"only late": {shape.Link{Latency: 300 * time.Millisecond}, 10_000, 300 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				shaped, far := shapedPipe(test.link)
				began := time.Now()
				go shaped.Write(make([]byte, test.bytes))
				if _, err := io.ReadFull(far, make([]byte, test.bytes)); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took < test.want-time.Microsecond || took > test.want+time.Millisecond {
					t.Errorf("%d bytes took %v, want %v", test.bytes, took, test.want)
				}
				hangUp(shaped, far)
			})
		})
	}
}

func TestShapedWriteKeepsItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shaped, far := shapedPipe(shape.Link{Rate: 8e3}) // a kilobyte a second
		began := time.Now()
		shaped.SetDeadline(began.Add(3 * time.Second))
		n, err := shaped.Write(make([]byte, 1<<20))
		if !errors.Is(err, os.ErrDeadlineExceeded) || n < leastRoom-segmentLen || n > 2*leastRoom {
			t.Errorf("%d bytes, error %v, want about %d and that the deadline has passed", n, err, leastRoom)
		}
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("gave up after %v, want 3s", took)
		}
		hangUp(shaped, far)
	})
}

func TestShapedCloseLetsLastWordsGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shaped, far := shapedPipe(shape.Link{Latency: 100 * time.Millisecond})
		shaped.Write([]byte("no entry"))
		shaped.Close()
		if _, err := shaped.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
			t.Errorf("write after close: %v, want that it is closed", err)
		}
		if _, err := shaped.Read(make([]byte, 1)); err == nil {
			t.Error("read after close succeeds")
		}
		if text, err := io.ReadAll(far); err != nil || string(text) != "no entry" {
			t.Errorf("%q, error %v at the other end, want what was written", text, err)
		}
		hangUp(shaped, far)
	})
}

func TestShapedWriteTellsOfABrokenConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shaped, far := shapedPipe(shape.Link{Rate: 1e6})
		far.Close()
		if _, err := shaped.Write(make([]byte, 1<<20)); err == nil {
			t.Error("a megabyte went into a broken connection")
		}
		hangUp(shaped, far)
	})
}

// Bytes that wait below the stream delay everything else, so they must be few, however many links want
// to send at once.
func TestPaceTakesTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShaper(shape.Network{Uplink: shape.Link{Rate: 8e6}}, false)
		s.book("", 100_000) // a tenth of a second
		began := time.Now()
		var links sync.WaitGroup
		waits := make(chan time.Duration, 3)
		for range 3 {
			links.Go(func() {
				s.pace("", 100_000, nil)
				waits <- time.Since(began)
			})
		}
		links.Wait()
		for turn := range 3 {
			if got, want := <-waits, time.Duration(turn+1)*100*time.Millisecond-ahead; got != want {
				t.Errorf("turn %d after %v, want %v", turn, got, want)
			}
		}
		over := make(chan struct{})
		close(over)
		s.pace("", 1<<30, over)
		if waited := time.Since(began); waited > 300*time.Millisecond {
			t.Errorf("waited %v although the link is over", waited)
		}
	})
}

// Closing the host waits for the bytes that its connections still send.
func TestShaperWaitsForLastWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shaped, far := shapedPipe(shape.Link{Latency: 100 * time.Millisecond})
		heard := make(chan string, 1)
		go func() {
			text, _ := io.ReadAll(far)
			heard <- string(text)
		}()
		shaped.Write([]byte("bye"))
		shaped.Close()
		shaped.(*shapedConn).shaper.wait()
		synctest.Wait()
		select {
		case text := <-heard:
			if text != "bye" {
				t.Errorf("the other end heard %q", text)
			}
		default:
			t.Error("the last words are still under way")
		}
		hangUp(shaped, far)
	})
}

// A connection keeps no more buffers than it needs, however small the writes, and makes no new ones in
// steady state.
func TestShapedBuffersAreFewAndUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shaped, far := shapedPipe(shape.Link{Rate: 8e6, Latency: 100 * time.Millisecond})
		go io.Copy(io.Discard, far)
		for range 1000 {
			shaped.Write(make([]byte, 20))
		}
		<-time.After(time.Second)
		if n := len(shaped.(*shapedConn).free); n != mostFree {
			t.Errorf("%d buffers are kept, want %d", n, mostFree)
		}
		piece := make([]byte, segmentLen)
		if n := testing.AllocsPerRun(100, func() {
			shaped.SetWriteDeadline(time.Now().Add(time.Second))
			shaped.Write(piece)
			<-time.After(time.Second)
		}); n > 3 {
			t.Errorf("a write allocates %v times, want 3 at most, which are those of this test", n)
		}
		hangUp(shaped, far)
	})
}
