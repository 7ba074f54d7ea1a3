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
	timeout time.Duration
	wake    chan struct{} // controls wait, and no writer takes them along

	mu    sync.Mutex // held while frames are written
	bytes []byte     // controls, a header and its data
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
	w.bytes = w.bytes[:0]
	w.waiting.Lock()
	for i := range w.controls {
		w.bytes = append(w.bytes, w.controls[i][:]...)
	}
	w.controls = w.controls[:0]
	w.waiting.Unlock()
	if h != nil {
		w.bytes = append(w.bytes, h[:]...)
	}
	if len(w.bytes) == 0 {
		return nil
	}
	now := time.Now()
	if w.until.Sub(now) < w.timeout/2 { // a deadline costs a timer
		w.until = now.Add(w.timeout)
		if err := w.conn.SetWriteDeadline(w.until); err != nil {
			return err
		}
	}
	w.bytes = append(w.bytes, data...)
	_, err := w.conn.Write(w.bytes)
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
	scratch [16 << 10]byte
}

// deliver reads the data of a frame into t, or discards it if there is no such stream.
func (r *reader) deliver(t *Stream, length int) error {
	if t == nil {
		_, err := io.CopyN(io.Discard, r.conn, int64(length))
		return err
	}
	if !t.admits(length) {
		return errProtocol
	}
	defer t.wake()
	for length > 0 {
		n, err := r.conn.Read(r.scratch[:min(length, len(r.scratch))])
		t.take(r.scratch[:n])
		if length -= n; n == 0 && err != nil {
			return err
		}
	}
	return nil
}
