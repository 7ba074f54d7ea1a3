package lab

import (
	"context"
	"errors"
	"os/exec"
	"time"
)

// A supervisor is the parent's side of a run. Its loop owns all state; the
// goroutines of a process only send news.
type supervisor struct {
	options Options
	news    chan news
	procs   []*process

	ready, done, exited int
	stopping            bool
	failure             *PeerError
	patience            <-chan time.Time // ends the wait for the peer that others echo
	deadline            <-chan time.Time // kills what is left
}

// News of one peer: a notice, a line of its log, or its end.
type news struct {
	rank   int
	notice notice
	line   string
	ended  bool
	err    error // of the end
}

func (s *supervisor) loop(ctx context.Context) error {
	cancelled := ctx.Done()
	for s.exited < len(s.procs) {
		select {
		case n := <-s.news:
			s.hear(n)
		case <-cancelled:
			cancelled = nil
			s.stop()
		case <-s.patience:
			s.stop()
		case <-s.deadline:
			s.kill()
		}
	}
	switch {
	case s.failure != nil:
		s.failure.Stderr = s.procs[s.failure.Rank].words.lines
		return s.failure
	case s.done < len(s.procs):
		return context.Cause(ctx)
	}
	return nil
}

func (s *supervisor) hear(n news) {
	p := s.procs[n.rank]
	switch {
	case n.ended:
		s.exited++
		if !p.failed {
			s.fail(n.rank, ending(n.err))
		}
	case n.line != "":
		p.words.add(n.line)
		s.options.Log(n.rank, n.line)
	case n.notice.Ready != nil:
		p.contact = *n.notice.Ready
		if s.ready++; s.ready == len(s.procs) {
			s.introduce()
		}
	case n.notice.Event != nil:
		if step := n.notice.Event.Step; step != nil {
			p.round = step.Round
		}
		s.options.Event(*n.notice.Event)
	case n.notice.Failed != nil:
		p.failed = true
		s.fail(n.rank, n.notice.Failed)
	case n.notice.Done:
		if s.done++; s.done == len(s.procs) {
			s.stop()
		}
	}
}

// introduce tells every peer where all of them are.
func (s *supervisor) introduce() {
	roster := make([]Contact, len(s.procs))
	for rank, p := range s.procs {
		roster[rank] = p.contact
	}
	for _, p := range s.procs {
		p.orders <- order{Roster: roster}
	}
}

// fail notes the first failure and stops the run: what other peers say after
// that is a consequence. An echo waits for the peer that it comes from.
func (s *supervisor) fail(rank int, f *Failure) {
	if s.stopping || f.Echo && s.failure != nil {
		return
	}
	s.failure = &PeerError{Rank: rank, Round: s.procs[rank].round, Reason: f.Reason, Hint: f.Hint, Code: f.Code}
	if f.Echo {
		s.patience = time.After(s.options.Grace)
		return
	}
	s.stop()
}

func (s *supervisor) stop() {
	if s.stopping {
		return
	}
	s.stopping = true
	for _, p := range s.procs {
		p.orders <- order{Stop: true}
	}
	s.deadline = time.After(s.options.Grace)
}

func (s *supervisor) kill() {
	for _, p := range s.procs {
		p.kill()
	}
}

// ending says of a process that ended by itself how it did.
func ending(err error) *Failure {
	if err == nil {
		return &Failure{Reason: "its process ended before its work was done", Code: 1}
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return &Failure{Reason: "its process ended: " + err.Error(), Code: exit.ExitCode()}
	}
	return &Failure{Reason: err.Error(), Code: 1}
}
