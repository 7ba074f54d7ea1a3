package bridge

import (
	"errors"
	"strings"
	"time"
)

var (
	errOrdered = errors.New("the script has been stopped")
	// ErrLeft is the error of a call when the script has ended well. Its last acts may still be in Acts.
	ErrLeft = errors.New("the script has ended")

	// ErrFinished is the error of State when the script has said FINISH, and so takes no step that would need it.
	ErrFinished = errors.New("the script has finished, and gives no further state")
)

// settle is the goroutine that finds out how the conversation ended. A program and its connection usually end at the
// same time. It waits for the second of them, but not for long.
func (s *Script) settle() {
	select {
	case <-s.child.exited:
		_ = s.ear.listener.SetDeadline(time.Now().Add(s.options.linger)) // a call may wait
		s.lock.Lock()
		if s.conn != nil {
			_ = s.conn.socket.SetReadDeadline(time.Now().Add(s.options.linger))
		}
		s.lock.Unlock()
		<-s.hungUp
	case <-s.hungUp:
		late := time.NewTimer(s.options.linger)
		defer late.Stop()
		select {
		case <-s.child.exited:
		case <-late.C:
		}
	}
	err := s.reason()
	s.lock.Lock()
	s.lost = err
	s.lock.Unlock()
	close(s.gone)
}

// reason returns what a call learns that waits in vain. It is never nil.
func (s *Script) reason() error {
	if err := s.verdict(); err != nil {
		return err
	}
	if interrupted, killed := s.child.fate(); interrupted || killed != alive {
		return errOrdered
	}
	return ErrLeft
}

// verdict returns the error of the script's end; nil: it ended well or as ordered.
func (s *Script) verdict() error {
	s.lock.Lock()
	refused, begun, left, raised := s.refused, s.part.begun, s.turns.phase == left, s.raised
	s.lock.Unlock()
	if refused != nil {
		return refused
	}
	e := s.exit()
	interrupted, killed := s.child.fate()
	switch {
	case killed == tooSlow:
		return e
	case interrupted || killed != alive:
		return nil
	case begun && raised.Message == "" && (e.Code == 0 || e.Running && left):
		return nil
	}
	return e
}

// exit describes the script's end.
func (s *Script) exit() *Exit {
	e := &Exit{Rank: s.options.Rank, Command: strings.Join(s.options.Command, " "), Code: -1}
	if s.child.ended() {
		state := s.child.cmd.ProcessState
		e.Code, e.Signal = state.ExitCode(), endedBy(state)
	} else {
		e.Running = true
	}
	_, killed := s.child.fate()
	e.Slow = killed == tooSlow
	s.lock.Lock()
	defer s.lock.Unlock()
	e.Joined, e.Begun, e.Over = s.region != nil, s.part.begun, s.turns.over
	e.Rounds, e.Done = s.part.rounds, int(s.turns.done)
	e.Raised, e.Hint = s.raised.Message, s.raised.Hint
	return e
}

// refuse ends the conversation, and tells the script why. The first reason stays.
func (s *Script) refuse(reason error, hint string) {
	s.lock.Lock()
	first := s.refused == nil
	if first {
		s.refused = reason
	}
	c := s.conn
	s.lock.Unlock()
	if !first || c == nil {
		return
	}
	_ = c.socket.SetWriteDeadline(time.Now().Add(s.options.linger)) // it may have stopped reading
	_ = c.sendJSON(Header{Kind: KindError}, Failure{reason.Error(), hint})
	_ = c.socket.Close()
}
