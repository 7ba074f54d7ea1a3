package mux

import (
	"io"
	"net"
	"sync"
	"time"
)

// mostControls bounds the frames without data that wait: the other end does not read, or floods.
const mostControls = 1024

// A writer passes frames to the connection, one caller at a time.
type writer struct {
	conn    net.Conn
	both    vectorWriter // conn, if it can; else nil
	timeout time.Duration
	wake    chan struct{} // controls wait, and no writer takes them along

	mu    sync.Mutex // held while frames are written
	first []byte     // controls and a header; without both, all bytes
	until time.Time  // deadline of the connection

	waiting  sync.Mutex
	controls []head
}

// queue adds a frame without data, and reports whether there is room.
func (w *writer) queue(h head) bool {
	w.waiting.Lock()
	room := len(w.controls) < mostControls
	if room {
		w.controls = append(w.controls, h)
	}
	w.waiting.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
	return room
}

// write sends the waiting controls, then h with its data. A nil h sends the controls alone.
func (w *writer) write(h *head, data []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.first = w.first[:0]
	w.waiting.Lock()
	for i := range w.controls {
		w.first = append(w.first, w.controls[i][:]...)
	}
	w.controls = w.controls[:0]
	w.waiting.Unlock()
	if h != nil {
		w.first = append(w.first, h[:]...)
	}
	if len(w.first) == 0 {
		return nil
	}
	now := time.Now()
	if w.until.Sub(now) < w.timeout/2 { // a deadline costs a timer
		w.until = now.Add(w.timeout)
		if err := w.conn.SetWriteDeadline(w.until); err != nil {
			return err
		}
	}
	if w.both != nil {
		return w.both.WriteBoth(w.first, data)
	}
	w.first = append(w.first, data...)
	_, err := w.conn.Write(w.first)
	return err
}

// last writes the last words of a session, as soon as no other goroutine writes.
func (w *writer) last(h head) {
	w.conn.SetWriteDeadline(time.Now().Add(goAwayTime)) // ends a write that waits
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conn.SetWriteDeadline(time.Now().Add(goAwayTime))
	w.conn.Write(h[:])
}

// A reader reads frames from the connection.
type reader struct {
	conn    io.Reader
	chunks  chunkReader // conn, if it can; else nil
	scratch []byte
	lazy    *Stream // has bytes that its reader does not know of yet
}

func newReader(c net.Conn) *reader {
	r := &reader{conn: c}
	if r.chunks, _ = c.(chunkReader); r.chunks == nil {
		r.scratch = make([]byte, 16<<10)
	}
	return r
}

// chunk returns at least one and at most most bytes, which are valid until the next call.
func (r *reader) chunk(most int) ([]byte, error) {
	if r.lazy != nil && (r.chunks == nil || !r.chunks.Waiting()) {
		r.lazy.wake()
		r.lazy = nil
	}
	if r.chunks != nil {
		return r.chunks.Chunk(most)
	}
	n, err := r.conn.Read(r.scratch[:min(most, len(r.scratch))])
	if n > 0 {
		err = nil
	}
	return r.scratch[:n], err
}

// full fills b.
func (r *reader) full(b []byte) error {
	for len(b) > 0 {
		got, err := r.chunk(len(b))
		if err != nil {
			return err
		}
		b = b[copy(b, got):]
	}
	return nil
}

// deliver reads the data of a frame into t, or discards it if there is no such stream.
func (r *reader) deliver(t *Stream, length int) error {
	if t != nil && !t.admits(length) {
		return errProtocol
	}
	if r.lazy != nil && r.lazy != t {
		r.lazy.wake()
		r.lazy = nil
	}
	for length > 0 {
		got, err := r.chunk(length)
		if err != nil {
			return err
		}
		length -= len(got)
		if t != nil {
			t.take(got)
			r.lazy = t
		}
	}
	return nil
}
