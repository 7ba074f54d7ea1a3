package mux

import (
	"io"
	"math"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
)

// A Stream is one stream of a session. One goroutine reads and another one writes at a time.
type Stream struct {
	session *Session
	id      uint32
	span    network.ResourceScopeSpan

	mu     sync.Mutex
	change sync.Cond
	inbox
	outbox
}

// An inbox is the receiving side of a stream.
type inbox struct {
	reader   []byte   // of the caller of Read that waits; nil: none does
	got      int      // bytes of it that are filled
	ready    bool     // it may go on
	segments [][]byte // bytes that came when no reader waited
	read     int      // segments that were read, of which only their places are left
	first    int      // bytes of the next segment that were read
	buffered int
	room     int   // bytes that the other end may still send
	readErr  error // why no bytes will be read; io.EOF: after those that are there
	readEnd  deadline
}

// An outbox is the sending side of a stream.
type outbox struct {
	window   uint32 // bytes that this end may still send
	writeErr error  // why no bytes can be written
	writeEnd deadline
}

func newStream(s *Session, id uint32, span network.ResourceScopeSpan) *Stream {
	t := &Stream{session: s, id: id, span: span}
	t.change.L = &t.mu
	t.room, t.window = firstWindow, firstWindow
	return t
}

// welcome returns the first grant of a stream.
func (t *Stream) welcome() uint32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	more := int(t.session.config.Window) - t.room - t.buffered
	if more <= 0 {
		return 0
	}
	t.room += more
	return uint32(more)
}

// Read waits for bytes. It returns io.EOF after the last one of a stream that the other end has closed.
func (t *Stream) Read(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(p) == 0 {
		return 0, nil
	}
	for {
		if t.readErr != nil && t.readErr != io.EOF {
			return 0, t.readErr
		}
		if t.buffered > 0 {
			n := t.drain(p)
			t.grant()
			return n, nil
		}
		if t.readErr != nil {
			return 0, t.readErr
		}
		if t.readEnd.passed() {
			return 0, timeoutError{}
		}
		t.reader, t.got, t.ready = p, 0, false
		for !t.ready && t.readErr == nil && !t.readEnd.passed() {
			t.change.Wait()
		}
		n := t.got
		t.reader, t.got = nil, 0
		if n > 0 {
			return n, nil
		}
	}
}

// drain copies bytes of segments to p.
func (t *Stream) drain(p []byte) (n int) {
	for n < len(p) && t.buffered > 0 {
		segment := t.segments[t.read][t.first:]
		k := copy(p[n:], segment)
		n, t.first, t.buffered = n+k, t.first+k, t.buffered-k
		if k == len(segment) {
			putSegment(t.segments[t.read])
			t.segments[t.read] = nil
			t.read, t.first = t.read+1, 0
		}
	}
	if t.buffered == 0 {
		t.segments, t.read = t.segments[:0], 0
	}
	return n
}

// admits reports whether so many bytes are within the window.
func (t *Stream) admits(bytes int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if bytes > t.room {
		return false
	}
	t.room -= bytes
	return true
}

// take delivers bytes to the reader that waits, and keeps the rest. It does not wake the reader, see wake.
func (t *Stream) take(b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.readErr != nil && t.readErr != io.EOF {
		return // no reader wants them
	}
	if t.reader != nil && t.buffered == 0 {
		n := copy(t.reader[t.got:], b)
		t.got, b = t.got+n, b[n:]
		t.grant()
	}
	t.keep(b)
}

// wake tells the reader of the bytes that it has.
func (t *Stream) wake() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.reader != nil && t.got > 0 && !t.ready {
		t.ready = true
		t.change.Broadcast()
	}
}

// keep stores bytes until they are read.
func (t *Stream) keep(b []byte) {
	t.buffered += len(b)
	if last := len(t.segments) - 1; last >= t.read {
		s := t.segments[last]
		n := min(len(b), cap(s)-len(s))
		t.segments[last], b = append(s, b[:n]...), b[n:]
	}
	if len(t.segments) == cap(t.segments) && t.read > 0 {
		n := copy(t.segments, t.segments[t.read:])
		clear(t.segments[n:])
		t.segments, t.read = t.segments[:n], 0
	}
	for len(b) > 0 {
		s := getSegment()
		n := min(len(b), cap(s))
		t.segments, b = append(t.segments, append(s, b[:n]...)), b[n:]
	}
}

// grant lets the other end send more when it has used half of the window. t.mu is held.
func (t *Stream) grant() {
	more := int(t.session.config.Window) - t.room - t.buffered
	if more < int(t.session.config.Window)/2 || t.readErr != nil {
		return
	}
	t.room += more
	t.session.control(newHead(kindWindow, 0, t.id, uint32(more)))
}

// granted enters a grant of the other end.
func (t *Stream) granted(bytes uint32) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.window > math.MaxUint32-bytes {
		return errProtocol
	}
	t.window += bytes
	t.change.Broadcast()
	return nil
}

// Write passes b to the connection, as the other end takes it.
func (t *Stream) Write(b []byte) (n int, err error) {
	for n < len(b) {
		k, err := t.reserve(min(len(b)-n, mostFrame))
		if err != nil {
			return n, err
		}
		h := newHead(kindData, 0, t.id, uint32(k))
		if err := t.session.out.write(&h, b[n:n+k]); err != nil {
			t.session.end(err, false)
			return n, ended(t.session.reason())
		}
		n += k
	}
	return n, nil
}

// reserve waits for a window of at least one byte, and takes at most most.
func (t *Stream) reserve(most int) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		switch {
		case t.writeErr != nil:
			return 0, t.writeErr
		case t.writeEnd.passed():
			return 0, timeoutError{}
		case t.window > 0:
			n := uint32(min(uint64(most), uint64(t.window)))
			t.window -= n
			return int(n), nil
		}
		t.change.Wait()
	}
}

// flagged handles the flags of a frame, which come before its bytes.
func (t *Stream) flagged(h *head) {
	flags := h.flags()
	if flags&flagRST != 0 {
		code := uint32(0)
		if h.kind() == kindWindow {
			code = h.length()
		}
		t.abort(reset(true, code))
		t.session.forget(t)
		return
	}
	if flags&flagFIN != 0 {
		t.mu.Lock()
		if t.readErr == nil {
			t.readErr = io.EOF
		}
		over := t.writeErr != nil
		t.change.Broadcast()
		t.mu.Unlock()
		if over {
			t.session.forget(t)
		}
	}
}

// abort ends both sides that have not ended.
func (t *Stream) abort(why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.readErr == nil {
		t.readErr = why
	}
	if t.writeErr == nil {
		t.writeErr = why
	}
	t.readEnd.stop()
	t.writeEnd.stop()
	t.change.Broadcast()
}

// CloseWrite tells the other end that no more bytes come.
func (t *Stream) CloseWrite() error {
	t.mu.Lock()
	if t.writeErr != nil {
		defer t.mu.Unlock()
		if t.writeErr == errWritten {
			return nil
		}
		return t.writeErr
	}
	t.writeErr = errWritten
	over := t.readErr != nil
	t.change.Broadcast()
	t.mu.Unlock()
	t.session.control(newHead(kindWindow, flagFIN, t.id, 0))
	if over {
		t.session.forget(t)
	}
	return nil
}

// CloseRead discards bytes that still come. The other end does not learn of it.
func (t *Stream) CloseRead() error {
	t.mu.Lock()
	if t.readErr == nil || t.readErr == io.EOF {
		t.readErr = network.ErrReset
	}
	t.segments, t.read, t.first, t.buffered = nil, 0, 0, 0
	over := t.writeErr != nil
	t.change.Broadcast()
	t.mu.Unlock()
	if over {
		t.session.forget(t)
	}
	return nil
}

// Close closes both sides.
func (t *Stream) Close() error {
	t.CloseRead()
	return t.CloseWrite()
}

// Reset ends both sides at once, at both ends.
func (t *Stream) Reset() error { return t.ResetWithError(0) }

// ResetWithError is Reset with a code for the other end.
func (t *Stream) ResetWithError(code network.StreamErrorCode) error {
	t.mu.Lock()
	over := t.readErr != nil && t.writeErr != nil
	t.mu.Unlock()
	if over {
		return nil
	}
	t.abort(reset(false, uint32(code)))
	t.session.control(newHead(kindWindow, flagRST, t.id, uint32(code)))
	t.session.forget(t)
	return nil
}

// SetDeadline bounds reads and writes.
func (t *Stream) SetDeadline(at time.Time) error {
	t.SetReadDeadline(at)
	return t.SetWriteDeadline(at)
}

// SetReadDeadline bounds reads.
func (t *Stream) SetReadDeadline(at time.Time) error {
	t.readEnd.set(t, at)
	return nil
}

// SetWriteDeadline bounds writes, as long as the connection takes bytes.
func (t *Stream) SetWriteDeadline(at time.Time) error {
	t.writeEnd.set(t, at)
	return nil
}
