package mux

import (
	"context"
	"io"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
)

// A Config holds the bounds of sessions.
type Config struct {
	Window       uint32        // bytes of a stream that may be under way, at least 256 KiB
	Streams      int           // that the other end may have open
	KeepAlive    time.Duration // a session that is silent so long is probed
	WriteTimeout time.Duration // for a write, and for the answer to a probe
}

// Client begins a session over c, which this end has dialled. scope, which may be nil, bounds the memory
// of streams.
func Client(c net.Conn, config Config, scope network.PeerScope) *Session {
	return newSession(c, false, config, scope)
}

// Server is Client for the other end.
func Server(c net.Conn, config Config, scope network.PeerScope) *Session {
	return newSession(c, true, config, scope)
}

// A Session carries the streams of one connection. Streams write to the connection themselves. Frames
// without data, which receive may not wait for, queue in controls.
type Session struct {
	conn   net.Conn
	config Config
	scope  network.PeerScope
	out    writer

	accepted chan *Stream
	over     chan struct{} // closed at the end of the session
	ended    sync.WaitGroup

	heard atomic.Int64 // time of the last frame, in ns after began
	began time.Time

	mu sync.Mutex
	table
}

// A table holds the streams of a session, under its lock.
type table struct {
	streams  map[uint32]*Stream
	incoming int
	first    uint32 // parity of the streams that this end opens
	next     uint32
	why      error // why the session has ended; nil: it has not
}

func newSession(c net.Conn, server bool, config Config, scope network.PeerScope) *Session {
	s := &Session{
		conn: c, config: config, scope: scope,
		accepted: make(chan *Stream, config.Streams), over: make(chan struct{}), began: time.Now(),
		table: table{streams: make(map[uint32]*Stream), first: 1, next: 1},
	}
	if server {
		s.first, s.next = 0, 2
	}
	s.out = writer{conn: c, timeout: config.WriteTimeout, wake: make(chan struct{}, 1)}
	s.ended.Go(func() { s.end(s.receive(), false) })
	s.ended.Go(s.sendControls)
	s.ended.Go(s.keepAlive)
	return s
}

// OpenStream opens a stream. It does not wait for the other end.
func (s *Session) OpenStream(ctx context.Context) (network.MuxedStream, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	span, err := s.reserve()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	if s.why != nil {
		defer s.mu.Unlock()
		span.Done()
		return nil, s.why
	}
	if s.next > math.MaxUint32-2 {
		defer s.mu.Unlock()
		span.Done()
		return nil, errClosed
	}
	t := newStream(s, s.next, span)
	s.next += 2
	s.streams[t.id] = t
	s.mu.Unlock()
	s.control(newHead(kindWindow, flagSYN, t.id, t.welcome()))
	return t, nil
}

// reserve reserves the memory of a stream.
func (s *Session) reserve() (network.ResourceScopeSpan, error) {
	if s.scope == nil {
		return &network.NullScope{}, nil
	}
	span, err := s.scope.BeginSpan()
	if err != nil {
		return nil, err
	}
	if err := span.ReserveMemory(firstWindow, network.ReservationPriorityAlways); err != nil {
		span.Done()
		return nil, err
	}
	return span, nil
}

// AcceptStream waits for a stream that the other end opens.
func (s *Session) AcceptStream() (network.MuxedStream, error) {
	select {
	case t := <-s.accepted:
		s.control(newHead(kindWindow, flagACK, t.id, t.welcome()))
		return t, nil
	case <-s.over:
		return nil, s.reason()
	}
}

// As finds no other type behind a session.
func (s *Session) As(any) bool { return false }

// IsClosed reports whether the session has ended.
func (s *Session) IsClosed() bool { return s.reason() != nil }

func (s *Session) reason() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.why
}

// Close ends the session and resets its streams.
func (s *Session) Close() error {
	s.end(errClosed, false)
	s.ended.Wait()
	return nil
}

// goAwayTime bounds the write of the last words of a session.
const goAwayTime = 100 * time.Millisecond

// CloseWithError ends the session and tells the other end why.
func (s *Session) CloseWithError(code network.ConnErrorCode) error {
	s.end(&network.ConnError{ErrorCode: code}, true)
	s.ended.Wait()
	return nil
}

// end ends the session once. tell sends the code of why first.
func (s *Session) end(why error, tell bool) {
	s.mu.Lock()
	if s.why != nil {
		s.mu.Unlock()
		return
	}
	s.why = why
	streams := s.streams
	s.streams = nil
	close(s.over)
	s.mu.Unlock()
	if no, ok := why.(*network.ConnError); ok && tell {
		s.out.last(newHead(kindGoAway, 0, 0, uint32(no.ErrorCode)))
	}
	s.conn.Close()
	for _, t := range streams {
		t.abort(ended(why))
		t.span.Done()
	}
}

// forget removes a stream that is over at both ends, or reset.
func (s *Session) forget(t *Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.streams[t.id] != t {
		return
	}
	delete(s.streams, t.id)
	if t.id%2 != s.first {
		s.incoming--
	}
	t.span.Done()
}

// control queues a frame without data. Too many that the other end does not read end the session.
func (s *Session) control(h head) {
	if !s.out.queue(h) {
		go s.end(errProtocol, false)
	}
}

// sendControls writes the frames without data that no writer has taken along.
func (s *Session) sendControls() {
	for {
		select {
		case <-s.out.wake:
			if err := s.out.write(nil, nil); err != nil {
				s.end(err, false)
				return
			}
		case <-s.over:
			return
		}
	}
}

// keepAlive probes a silent session, and ends it if no answer comes.
func (s *Session) keepAlive() {
	timer := time.NewTimer(s.config.KeepAlive)
	defer timer.Stop()
	asked := int64(-1) // when the last frame before the probe came
	for {
		select {
		case <-timer.C:
		case <-s.over:
			return
		}
		heard := s.heard.Load()
		silent := time.Since(s.began) - time.Duration(heard)
		switch {
		case silent < s.config.KeepAlive:
			timer.Reset(s.config.KeepAlive - silent)
		case asked == heard:
			s.end(errUnanswered, false)
			return
		default:
			asked = heard
			s.control(newHead(kindPing, flagSYN, 0, 0))
			timer.Reset(s.config.WriteTimeout)
		}
	}
}

// receive delivers frames until the connection ends.
func (s *Session) receive() error {
	in, h := &reader{conn: s.conn}, new(head)
	for {
		if _, err := io.ReadFull(s.conn, h[:]); err != nil {
			return err
		}
		s.heard.Store(int64(time.Since(s.began)))
		if h.version() != 0 {
			return errProtocol
		}
		var err error
		switch h.kind() {
		case kindData, kindWindow:
			err = s.deliver(h, in)
		case kindPing:
			if h.flags()&flagSYN != 0 {
				s.control(newHead(kindPing, flagACK, 0, h.length()))
			}
		case kindGoAway:
			if h.length() == goAwayNormal {
				return io.EOF
			}
			return &network.ConnError{Remote: true, ErrorCode: network.ConnErrorCode(h.length())}
		default:
			err = errProtocol
		}
		if err != nil {
			s.control(newHead(kindGoAway, 0, 0, goAwayProtocol))
			return err
		}
	}
}

// deliver handles a frame of a stream.
func (s *Session) deliver(h *head, in *reader) error {
	if h.flags()&flagSYN != 0 {
		if err := s.begin(h.stream()); err != nil {
			return err
		}
	}
	s.mu.Lock()
	t := s.streams[h.stream()]
	s.mu.Unlock()
	if t != nil {
		t.flagged(h)
	}
	if h.kind() == kindData {
		return in.deliver(t, int(h.length()))
	}
	if t != nil && h.flags()&flagRST == 0 {
		return t.granted(h.length())
	}
	return nil
}

// begin enters a stream that the other end opens, or resets it if there are too many.
func (s *Session) begin(id uint32) error {
	span, err := s.reserve()
	if err != nil {
		s.control(newHead(kindWindow, flagRST, id, uint32(network.StreamResourceLimitExceeded)))
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.why != nil:
		span.Done()
		return s.why
	case id%2 == s.first || s.streams[id] != nil:
		span.Done()
		return errProtocol
	case s.incoming == s.config.Streams:
		span.Done()
		s.control(newHead(kindWindow, flagRST, id, 0))
		return nil
	}
	t := newStream(s, id, span)
	select {
	case s.accepted <- t:
		s.streams[id] = t
		s.incoming++
	default: // streams that were closed before they were accepted still wait there
		span.Done()
		s.control(newHead(kindWindow, flagRST, id, 0))
	}
	return nil
}
