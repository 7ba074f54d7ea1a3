package node

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"

	"gossiptrainer/internal/shape"
)

// pipeConn is one end of a net.Pipe as libp2p wants it.
type pipeConn struct{ net.Conn }

func (pipeConn) LocalMultiaddr() ma.Multiaddr  { return nil }
func (pipeConn) RemoteMultiaddr() ma.Multiaddr { return nil }

// shapedPipe returns the ends of a connection of which one is shaped.
func shapedPipe(l shape.Link) (shaped manet.Conn, far net.Conn) {
	a, b := net.Pipe()
	s := newShaper(shape.Network{Uplink: l})
	return s.shape(pipeConn{a}, func() peer.ID { return "" }), b
}

// end closes both ends and waits until the shaped one has given up.
func end(shaped, far net.Conn) {
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
		"a gigabit":   {shape.Link{Rate: 1e9, Latency: 20 * time.Millisecond}, 125_000_000, time.Second + 20*time.Millisecond},
		"only late":   {shape.Link{Latency: 300 * time.Millisecond}, 10_000, 300 * time.Millisecond},
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
				end(shaped, far)
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
		if !errors.Is(err, os.ErrDeadlineExceeded) || n < leastRoom-parcelLen || n > 2*leastRoom {
			t.Errorf("%d bytes, error %v, want about %d and that the deadline has passed", n, err, leastRoom)
		}
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("gave up after %v, want 3s", took)
		}
		end(shaped, far)
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
		end(shaped, far)
	})
}

func TestShapedWriteTellsOfABrokenConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shaped, far := shapedPipe(shape.Link{Rate: 1e6})
		far.Close()
		if _, err := shaped.Write(make([]byte, 1<<20)); err == nil {
			t.Error("a megabyte went into a broken connection")
		}
		end(shaped, far)
	})
}

// What waits below the stream delays everything else, so it must be little.
func TestPaceWaitsForTheBacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShaper(shape.Network{Uplink: shape.Link{Rate: 8e6}})
		s.book("", 100_000) // a tenth of a second
		began := time.Now()
		s.pace("", nil)
		if waited := time.Since(began); waited != 100*time.Millisecond-ahead {
			t.Errorf("waited %v, want %v", waited, 100*time.Millisecond-ahead)
		}
		over := make(chan struct{})
		close(over)
		s.book("", 1<<30)
		s.pace("", over)
		if waited := time.Since(began); waited > 100*time.Millisecond {
			t.Errorf("waited %v although the link is over", waited)
		}
	})
}

func TestShapedRunChangesNoResult(t *testing.T) {
	job := task{n: 4, dim: 5000, rounds: 8}
	c := newCluster(t, job.n, job.dim, func(_ int, o *Options) {
		o.Network = shape.Network{Uplink: shape.Link{Rate: 5e7, Latency: 2 * time.Millisecond, Jitter: time.Millisecond, Loss: 0.01}}
	})
	finals, errs := c.run(t, t.Context(), job)
	for i, want := range job.lockStep(t) {
		if errs[i] != nil || finals[i].Digest != want {
			t.Errorf("worker %d: digest %.8s, error %v, want %.8s", i, finals[i].Digest, errs[i], want)
		}
	}
}

func TestShapingNeedsTCP(t *testing.T) {
	_, err := New(Options{RunID: "r", N: 2, Dim: 1, Transport: QUIC, Network: shape.Network{Uplink: shape.Link{Rate: 1}}})
	if err == nil {
		t.Fatal("limits over QUIC are accepted")
	}
}
