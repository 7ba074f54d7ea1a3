package dash

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"time"
)

// The times and bounds of streams.
const (
	sendEvery   = 500 * time.Millisecond // at most one message about a run
	stateEvery  = 3 * time.Second        // looks for changes of the list
	aliveEvery  = 15 * time.Second       // a comment, so that both ends notice a dead connection
	sendWithin  = 10 * time.Second       // a browser that takes longer is gone
	retryMillis = 2000                   // before a browser connects again
	mostStreams = 32
)

// A stream is one page that listens.
type stream struct {
	server  *server
	track   *track // nil: the list alone
	to      http.ResponseWriter
	control *http.ResponseController

	text bytes.Buffer // of the next message
	list []byte       // as last sent
	seen string       // the version of the run that the page has
}

// run sends until the page is gone or the server ends.
func (s *stream) run(ctx context.Context) error {
	lists, alive, pause := time.NewTicker(stateEvery), time.NewTicker(aliveEvery), time.NewTimer(0)
	defer lists.Stop()
	defer alive.Stop()
	defer pause.Stop()
	s.addState()
	var changed <-chan struct{} // nil while the pause lasts
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.server.ended:
			return s.end()
		case <-pause.C:
			changed = s.advance(pause)
		case <-changed:
			changed = s.advance(pause)
		case <-lists.C:
			s.addState()
		case <-alive.C:
			s.text.WriteString(": alive\n\n")
		}
		if err := s.flush(); err != nil {
			return err
		}
	}
}

// advance adds what has changed, and then begins a pause. If nothing has, it returns the channel of the next change.
func (s *stream) advance(pause *time.Timer) <-chan struct{} {
	if s.track == nil {
		return nil
	}
	changed := s.track.wait()
	if !s.addRun() {
		return changed
	}
	pause.Reset(sendEvery)
	return nil
}

// addRun adds what has changed of the run, and reports whether anything has.
func (s *stream) addRun() bool {
	view, stamp := s.track.view(s.seen)
	if view == nil {
		return false
	}
	s.add("run", stamp, jsonOf(view))
	s.seen = stamp
	return true
}

// addState adds the list of runs if it has changed.
func (s *stream) addState() {
	if text := jsonOf(s.server.state(time.Now())); !bytes.Equal(text, s.list) {
		s.add("state", "", text)
		s.list = text
	}
}

// end sends the last changes, and says that there will be no more.
func (s *stream) end() error {
	s.addState()
	if s.track != nil {
		s.addRun()
	}
	text := "the dash has ended; " + s.server.again + " shows the runs again"
	if s.server.follows {
		text = "the run is over; " + s.server.again + " shows it again"
	}
	s.add("ended", "", jsonOf(map[string]string{"text": text}))
	return s.flush()
}

// add adds a message. JSON has no line breaks.
func (s *stream) add(event, id string, data []byte) {
	fmt.Fprintf(&s.text, "event: %s\n", event)
	if id != "" {
		fmt.Fprintf(&s.text, "id: %s\n", id)
	}
	fmt.Fprintf(&s.text, "data: %s\n\n", data)
}

// flush sends the messages. A page that does not take them in time is gone.
func (s *stream) flush() error {
	if s.text.Len() == 0 {
		return nil
	}
	_ = s.control.SetWriteDeadline(time.Now().Add(sendWithin)) // a test may have no deadlines
	if _, err := s.text.WriteTo(s.to); err != nil {
		return err
	}
	return s.control.Flush()
}
