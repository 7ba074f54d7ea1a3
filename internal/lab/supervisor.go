package lab

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"time"

	"gossiptrainer/internal/fault"
	"gossiptrainer/internal/record"
	"gossiptrainer/topology"
)

// A supervisor is the parent's side of a run. Its loop owns all state; the
// goroutines of a process only send news.
type supervisor struct {
	options Options
	news    chan news
	procs   []*process
	faults  *faults

	ready, exited int
	met           time.Time // when all knew where the others are
	ending        ending
	stopping      bool
	failure       *PeerError
	patience      <-chan time.Time // ends the wait for the peer that others echo
	deadline      <-chan time.Time // kills what is left
}

func (s *supervisor) loop(ctx context.Context) error {
	cancelled, end := ctx.Done(), s.options.End
	for s.exited < len(s.procs) {
		select {
		case n := <-s.news:
			s.hear(n)
		case <-end:
			end = nil
			if !s.stopping {
				s.ending.hold(s.procs)
			}
		case <-cancelled:
			cancelled = nil
			s.stop()
		case <-s.patience:
			s.stop()
		case <-s.deadline:
			s.kill()
		case <-s.faults.due:
			s.change(s.faults.Until(s.faults.now()))
		}
	}
	switch {
	case s.failure != nil:
		s.failure.Stderr = s.procs[s.failure.Rank].words.lines
		return s.failure
	case !s.complete():
		return context.Cause(ctx)
	}
	return nil
}

// complete reports whether all peers that are not lost are done.
func (s *supervisor) complete() bool {
	return !slices.ContainsFunc(s.procs, func(p *process) bool {
		return !p.done && !p.lost && !(p.away && s.options.Spares != nil)
	})
}

func (s *supervisor) hear(n news) {
	p := s.procs[n.rank]
	switch {
	case n.ended:
		s.bury(n.rank, n.err)
	case n.line != "":
		p.words.add(n.line)
		s.options.Log(n.rank, n.line)
	case n.notice.Ready != nil:
		s.welcome(n.rank, *n.notice.Ready)
	case n.notice.Event != nil:
		if step := n.notice.Event.Step; step != nil {
			p.round = max(p.round, step.Round)
		}
		if e, isNew := s.options.History.Join(*n.notice.Event); isNew {
			s.options.Event(e)
		}
		if s.faults.see(*n.notice.Event) {
			s.change(s.faults.Until(s.faults.now()))
		}
	case n.notice.Begins != nil:
		s.change(s.faults.begins(*n.notice.Begins))
	case n.notice.Begun != nil:
		p.begun, p.still = max(p.begun, *n.notice.Begun), true
		s.agree()
	case n.notice.Failed != nil:
		p.failed = true
		if !s.spares(n.rank, n.notice.Failed) {
			s.fail(n.rank, n.notice.Failed)
		}
	case n.notice.Done:
		p.done = true
		s.conclude()
	}
}

// agree lets a run that ends early end, when all have said how far they are.
func (s *supervisor) agree() {
	if !s.stopping {
		s.ending.agree(s.procs)
	}
}

// start starts the peer of a rank, for the first time or after its last death.
func (s *supervisor) start(rank int) {
	p, orders := s.procs[rank], make(chan order, ordersPerLife(len(s.procs))+s.faults.orders)
	s.ending.brief(s.procs, orders)
	p.begin(rank, s.options.Command(rank, p.lives), orders, s.news)
}

// conclude stops the peers when there is nothing left to do.
func (s *supervisor) conclude() {
	if s.complete() {
		s.stop()
	}
}

// welcome tells all peers where the others are when the last one has said so, and
// one that comes back at once.
func (s *supervisor) welcome(rank int, where Contact) {
	p := s.procs[rank]
	p.contact = where
	known := s.ready == len(s.procs)
	if known {
		s.options.History.Return(rank, time.Since(s.met))
	}
	if !p.ready {
		p.ready = true
		s.ready++
	}
	switch {
	case known:
		s.introduce(p)
		s.faults.acquaint(s.procs, p)
	case s.ready == len(s.procs):
		s.met = time.Now()
		s.introduce(s.procs...)
		s.change(nil)
	}
}

// introduce tells peers where all of them are.
func (s *supervisor) introduce(peers ...*process) {
	roster := make([]Contact, len(s.procs))
	for rank, p := range s.procs {
		roster[rank] = p.contact
	}
	for _, p := range peers {
		p.orders <- order{Roster: roster}
	}
}

// bury deals with the end of a process: one that was due, or a death, after which
// the peer is started anew or the run ends. Who was done is not missed.
func (s *supervisor) bury(rank int, err error) {
	p := s.procs[rank]
	due := s.stopping || p.failed || p.done
	if !due && s.returns(rank, err) {
		return
	}
	s.exited++
	if p.done && !s.stopping {
		p.through = true
		s.tellThrough(rank)
	}
	if end := deathOf(err); !due && !s.spares(rank, end) {
		s.fail(rank, end)
	}
}

// tellThrough tells those who work on that a peer is through: one that comes back would
// wait for it, which cannot say so any more.
func (s *supervisor) tellThrough(rank int) {
	for _, p := range s.procs {
		if !p.done && !p.lost {
			p.orders <- order{Through: []int{rank}}
		}
	}
}

// spares goes on without a peer, if that can be and others are there.
func (s *supervisor) spares(rank int, f *Failure) bool {
	p := s.procs[rank]
	others := slices.ContainsFunc(s.procs, func(q *process) bool { return q != p && !q.lost })
	if s.stopping || s.options.Spares == nil || s.ready < len(s.procs) || !others || !s.options.Spares(*f) {
		return false
	}
	p.lost = true
	s.options.Log(rank, fmt.Sprintf("%s after round %d: the run goes on without it", f.Reason, p.round))
	s.options.Event(record.Event{Status: &record.Status{Rank: rank, State: record.Lost, Detail: f.Reason}})
	s.agree()
	s.conclude()
	return true
}

// returns starts a peer again that has died, or will do so, unless it is gone for good.
func (s *supervisor) returns(rank int, err error) bool {
	p := s.procs[rank]
	if !p.doomed {
		return s.revive(rank, err)
	}
	p.doomed = false
	if s.faults.Gone(topology.Rank(rank)) {
		return false
	}
	status := record.Status{Rank: rank, State: record.Returning, Detail: "killed by the script"}
	s.options.Event(record.Event{Status: &status})
	if p.away = s.faults.Dead(topology.Rank(rank)); !p.away {
		s.start(rank)
	}
	return true
}

// change does what changes of the script ask for.
func (s *supervisor) change(changes []fault.Change) {
	if s.stopping {
		return
	}
	for _, c := range changes {
		if !c.Over {
			s.options.Log(int(c.First()), "fault: "+c.String())
		}
		if err := s.faults.alter(s.procs, c); err != nil {
			s.options.Log(int(c.First()), err.Error())
		}
	}
	for rank, p := range s.procs {
		if p.away && !s.faults.Dead(topology.Rank(rank)) {
			s.start(rank)
		}
	}
	if s.ready == len(s.procs) {
		s.faults.announce(s.procs)
	}
	s.faults.arm()
}

// revive starts a peer anew, unless it has died too often or never lived.
func (s *supervisor) revive(rank int, err error) bool {
	p := s.procs[rank]
	now := time.Now()
	recent := 0
	for _, at := range p.deaths {
		if now.Sub(at) < time.Minute {
			recent++
		}
	}
	if _, lived := errors.AsType[*exec.ExitError](err); recent >= s.options.Restarts || err != nil && !lived {
		return false
	}
	p.deaths = append(p.deaths, now)
	why := deathOf(err).Reason
	s.options.Log(rank, fmt.Sprintf("%s after round %d: started anew", why, p.round))
	s.options.Event(record.Event{Status: &record.Status{Rank: rank, State: record.Returning, Detail: why}})
	s.start(rank)
	return true
}

// fail notes the first failure and stops the run: what other peers say after
// that is a consequence. An echo waits for the peer that it comes from.
func (s *supervisor) fail(rank int, f *Failure) {
	if s.stopping || f.Echo && s.failure != nil {
		return
	}
	s.failure = &PeerError{Rank: rank, Unmet: f.Died &&
		s.ready < len(s.procs), Round: s.procs[rank].round, Reason: f.Reason, Hint: f.Hint, Code: f.Code}
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
	s.faults.report(s.options.Missed)
	for _, p := range s.procs {
		p.wake()
		p.orders <- order{Stop: true}
		if p.away { // it has no process whose end could be waited for
			p.away, p.lost = false, s.options.Spares != nil
			s.exited++
		}
	}
	s.deadline = time.After(s.options.Grace)
}

func (s *supervisor) kill() {
	for _, p := range s.procs {
		p.kill()
	}
}

// deathOf says of a process that ended by itself how it did.
func deathOf(err error) *Failure {
	if err == nil {
		return &Failure{Reason: "its process ended before its work was done", Code: 1, Died: true}
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return &Failure{Reason: "its process ended: " + err.Error(), Code: exit.ExitCode(), Died: true}
	}
	return &Failure{Reason: err.Error(), Code: 1}
}
