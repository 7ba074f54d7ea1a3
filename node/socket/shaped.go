package socket

import (
	"net"
	"os"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	manet "github.com/multiformats/go-multiaddr/net"
)

// A shapedConn holds written bytes back until the time at which the shaper says that they arrive. Its
// method run passes the bytes on; Write waits only for room.
type shapedConn struct {
	manet.Conn
	shaper *shaper
	peer   func() peer.ID // "" before the handshake is over
	clock  alarm          // of run; rings when the rest is given up

	mu       sync.Mutex
	change   *sync.Cond
	segments []segment
	free     [][]byte
	held     int         // bytes in segments
	deadline time.Time   // of Write
	alarm    *time.Timer // rings at the deadline
	closed   bool
	failed   error
}

// A segment is a group of bytes that arrive together.
type segment struct {
	bytes   []byte
	arrives time.Time
}

// segmentLen bounds a segment: a full TLS record, which its reader can decrypt only when its last byte
// has come.
const segmentLen = 16<<10 + 22

// mostFree bounds the free buffers: a burst of many small writes needs more of them than are worth
// keeping.
const mostFree = 64

// shape returns raw itself if nothing is limited.
func (s *shaper) shape(raw manet.Conn, id func() peer.ID) manet.Conn {
	if s == nil {
		return raw
	}
	c := &shapedConn{Conn: raw, shaper: s, peer: id, clock: s.alarms()}
	c.change = sync.NewCond(&c.mu)
	c.alarm = time.AfterFunc(time.Hour, c.ring)
	c.alarm.Stop()
	s.open.Go(c.run)
	return c
}

// Write stores b in segments, as there is room.
func (c *shapedConn) Write(b []byte) (n int, err error) {
	room := c.shaper.room(c.peer())
	for n < len(b) {
		part := b[n:min(n+segmentLen, len(b))]
		if err := c.put(part, room); err != nil {
			return n, err
		}
		n += len(part)
	}
	return n, nil
}

// put waits for room for a segment and stores it.
func (c *shapedConn) put(part []byte, room int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.failed == nil && !c.closed && c.held > 0 && c.held+len(part) > room {
		if !c.deadline.IsZero() && !time.Now().Before(c.deadline) {
			return os.ErrDeadlineExceeded
		}
		c.change.Wait()
	}
	switch {
	case c.failed != nil:
		return c.failed
	case c.closed:
		return net.ErrClosed
	}
	var buffer []byte
	if last := len(c.free) - 1; last >= 0 {
		buffer, c.free = c.free[last], c.free[:last]
	}
	p := segment{bytes: append(buffer[:0], part...), arrives: c.shaper.book(c.peer(), len(part))}
	c.segments = append(c.segments, p)
	c.held += len(part)
	c.change.Broadcast()
	return nil
}

// run passes segments on, each at its time, until the connection is closed and all segments are gone.
func (c *shapedConn) run() {
	defer c.clock.stop()
	for {
		p, ok := c.next()
		if !ok {
			c.Conn.Close()
			return
		}
		if !c.clock.sleep(p.arrives) {
			return
		}
		_, err := c.Conn.Write(p.bytes)
		c.passed(p, err)
	}
}

// next waits for the first segment.
func (c *shapedConn) next() (segment, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.segments) == 0 && !c.closed && c.failed == nil {
		c.change.Wait()
	}
	if len(c.segments) == 0 || c.failed != nil {
		return segment{}, false
	}
	return c.segments[0], true
}

// passed removes the first segment, which has been written or has failed.
func (c *shapedConn) passed(p segment, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := copy(c.segments, c.segments[1:])
	c.segments[last] = segment{}
	c.segments = c.segments[:last]
	if len(c.free) < mostFree {
		c.free = append(c.free, p.bytes)
	}
	c.held -= len(p.bytes)
	if err != nil {
		c.failed = err
	}
	c.change.Broadcast()
}

// SetDeadline bounds reads and writes.
func (c *shapedConn) SetDeadline(t time.Time) error {
	if err := c.SetWriteDeadline(t); err != nil {
		return err
	}
	return c.Conn.SetReadDeadline(t)
}

// SetWriteDeadline bounds how long Write waits for room.
func (c *shapedConn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	switch {
	case c.closed:
	case t.IsZero():
		c.alarm.Stop()
	default:
		c.alarm.Reset(time.Until(t))
	}
	return nil
}

// ring wakes a Write that waits for room when the deadline has passed.
func (c *shapedConn) ring() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.change.Broadcast()
}

// Close ends reads and writes at once. Bytes written before are still sent for a while: a refusal is
// the last message to a stranger.
func (c *shapedConn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	c.alarm.Stop()
	c.change.Broadcast()
	time.AfterFunc(lastWords, func() {
		c.clock.ring()
		c.Conn.Close()
	})
	return c.Conn.SetReadDeadline(time.Unix(1, 0))
}
