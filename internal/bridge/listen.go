package bridge

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
)

// ends are the errors of a connection that is over. The last is one whose other side left messages unread.
var ends = []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, os.ErrDeadlineExceeded, syscall.ECONNRESET}

// listen is the goroutine that hears the script.
func (s *Script) listen() {
	defer close(s.hungUp)
	socket, err := s.ear.accept(os.Getuid(), func(err error) {
		s.options.Log.Info("refused a call to the script's socket", "err", err)
	})
	s.ear.close() // one call is all
	if err != nil {
		return // the program has ended before it called
	}
	c := newConn(socket)
	s.lock.Lock()
	s.conn = c
	s.lock.Unlock()
	if s.child.ended() { // settle may have looked for the connection too early
		_ = socket.SetReadDeadline(time.Now().Add(s.options.linger))
	}
	for {
		if err := s.hearOne(c); err != nil {
			over := slices.ContainsFunc(ends, func(end error) bool { return errors.Is(err, end) })
			if !over {
				s.refuse(fmt.Errorf("the script breaks the protocol of the bridge: %w", err), "docs/format/bridge.md describes it")
			}
			return
		}
	}
}

// hearOne reads and handles a message. The end of the connection is one of ends.
func (s *Script) hearOne(c *conn) error {
	h, err := c.next()
	if err != nil {
		return err
	}
	s.lock.Lock()
	err = s.turns.hear(h)
	r, rank, size := s.region, s.part.rank, s.part.size
	s.lock.Unlock()
	if err != nil {
		return err
	}
	switch h.Kind {
	case KindHello:
		return s.hearHello(c, h)
	case KindStart, KindStep:
		if err := c.takeVector(h, r); err != nil {
			return err
		}
		if h.Kind == KindStart {
			close(s.joined)
		} else {
			s.acts <- Act{Kind: Stepped}
		}
		return nil
	case KindFinish, KindPause:
		s.acts <- Act{Kind: map[Kind]ActKind{KindFinish: Finishing, KindPause: Pausing}[h.Kind]}
		return nil
	case KindStop:
		why, err := c.readStop(h)
		if err == nil {
			s.acts <- Act{Kind: Stopping, Why: why}
		}
		return err
	case KindCollect:
		act, err := c.readCall(h, rank, size)
		if err == nil {
			s.acts <- act
		}
		return err
	case KindState:
		data, err := c.body(h)
		if err == nil {
			s.lock.Lock()
			s.blobs.keep(int(h.Round), data, s.turns.phase == collecting)
			s.lock.Unlock()
			wake(s.stated)
		}
		return err
	default:
		return s.hearNote(c, h)
	}
}

// hearHello takes the outline and the region.
func (s *Script) hearHello(c *conn, h Header) error {
	hello, r, err := c.readHello(h)
	if err != nil {
		s.refuse(err, "")
		return net.ErrClosed
	}
	s.lock.Lock()
	s.turns.greeted(hello.Hello)
	s.turns.views = hello.Views != ""
	s.outline, s.region, s.same = hello.Outline, r, hello.Views
	s.lock.Unlock()
	if hello.Memory == Memfd {
		close(s.joined)
	}
	return nil
}

// hearNote acts on a message that may come at any time. Nothing follows BYE and ERROR.
func (s *Script) hearNote(c *conn, h Header) error {
	switch h.Kind {
	case KindLog, KindScore:
		var v Values
		err := c.decode(h, &v)
		if err == nil {
			err = v.Check()
		}
		if err != nil {
			return fmt.Errorf("%v: %w", h.Kind, err)
		}
		s.hearValues(h, v)
	case KindBye:
		if err := c.decode(h, &struct{}{}); err != nil {
			return err
		}
		s.acts <- Act{Kind: Leaving}
		return io.EOF
	case KindError:
		var f Failure
		if err := c.decode(h, &f); err != nil {
			return err
		}
		s.lock.Lock()
		s.raised = Failure{oneLine(f.Message), oneLine(f.Hint)}
		s.lock.Unlock()
		return io.EOF
	}
	return nil
}

// hearValues passes named values on. A loss that is not finite is not: parameters of a run that diverges are not finite
// either, and end it.
func (s *Script) hearValues(h Header, v Values) {
	if h.Kind == KindScore {
		s.lock.Lock()
		done := int(s.turns.done)
		s.lock.Unlock()
		if s.options.Score != nil {
			s.options.Score(done, v.Values)
		}
		return
	}
	loss := v.Values["loss"]
	delete(v.Values, "loss")
	if loss != nil {
		s.lock.Lock()
		s.news.loss = float32(*loss)
		s.lock.Unlock()
		if s.options.Loss != nil {
			s.options.Loss(int(h.Round), *loss)
		}
	}
	if len(v.Values) > 0 && s.options.Values != nil {
		s.options.Values(int(h.Round), v.Values)
	}
}

// maxReason bounds the script's own account in an error, in bytes.
const maxReason = 500

// oneLine makes a text fit into an error: of a traceback the last line, of others all lines in one.
func oneLine(text string) string {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "Traceback") {
		text = text[strings.LastIndexByte(text, '\n')+1:]
	}
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxReason {
		text = strings.ToValidUTF8(text[:maxReason], "") + "..."
	}
	return text
}

// wake leaves a sign for a goroutine that waits, unless there is one.
func wake(sign chan struct{}) {
	select {
	case sign <- struct{}{}:
	default:
	}
}
