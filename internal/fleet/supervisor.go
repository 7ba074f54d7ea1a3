package fleet

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

// A supervisor is the parent's side of a run. Its loop owns all state; the goroutines of a process
// only send news.
type supervisor struct {
	options Options
	news    chan news
	procs   []*process
	faults  *faults

	ready, exited int
	met           time.Time // when all peers were ready
	ending        ending
	stopping      bool
	failure       *PeerError
	patience      <-chan time.Time // ends the wait for the peer that caused an echoed failure
	deadline      <-chan time.Time // then all remaining processes are killed
}

func (s *supervisor) loop(ctx context.Context) error {
	cancelled, end := ctx.Done(), s.options.End
	for s.exited < len(s.procs) {
		select {
		case n := <-s.news:
			s.handle(n)
		case <-end:
			end = nil
			if !s.stopping {
				s.ending.hold(s.procs)
			}
		case wait := <-s.options.Still:
			s.rest(wait)
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
		s.failure.Stderr = s.procs[s.failure.Rank].lastLines.lines
		return s.failure
	case !s.complete():
		return context.Cause(ctx)
	}
	return nil
}

// rest stops all processes that do not hang already, and continues them when wait returns.
func (s *supervisor) rest(wait func()) {
	var resting []*process
	for _, p := range s.procs {
		if !p.hangs && !p.finished && p.suspend() == nil {
			resting = append(resting, p)
		}
	}
	wait()
	for _, p := range resting {
		p.wake()
	}
}

// complete reports whether all peers that are not lost are done. A newcomer that no member has given a place waits in
// vain then.
func (s *supervisor) complete() bool {
	return !slices.ContainsFunc(s.procs, func(p *process) bool {
		return !p.done && !p.lost && !(p.down && s.options.Expendable != nil) && !p.seat.waits()
	})
}

func (s *supervisor) handle(n news) {
	p := s.procs[n.rank]
	switch {
	case n.ended:
		s.handleEnd(n.rank, n.err)
	case n.line != "":
		p.lastLines.add(n.line)
		s.options.Log(n.rank, n.line)
	case n.notice.Ready != nil:
		s.handleReady(n.rank, *n.notice.Ready)
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
	case n.notice.Member != nil:
		p.seat.seated, p.seat.id = true, *n.notice.Member
	case n.notice.Begins != nil:
		s.change(s.faults.begins(*n.notice.Begins))
	case n.notice.Begun != nil:
		p.begun, p.holds = max(p.begun, *n.notice.Begun), true
		s.agree()
	case n.notice.Failed != nil && n.notice.Failed.Again:
		p.dying = n.notice.Failed
		p.dying.Died = true
	case n.notice.Failed != nil:
		p.failed = true
		if !s.goOnWithout(n.rank, n.notice.Failed) {
			s.fail(n.rank, n.notice.Failed)
		}
	case n.notice.Done:
		p.done = true
		s.stopIfComplete()
	}
}

// agree fixes the last round of a run that ends early, once all peers have reported their rounds.
func (s *supervisor) agree() {
	if !s.stopping {
		s.ending.agree(s.procs)
	}
}

// start starts the peer of a rank, for the first time or after its last death.
func (s *supervisor) start(rank int) {
	p, orders := s.procs[rank], make(chan order, ordersPerLife(len(s.procs))+s.faults.orders)
	s.ending.catchUp(s.procs, orders)
	p.begin(rank, s.options.Command(rank, p.lives), orders, s.news)
}

// stopIfComplete stops the peers when no work is left.
func (s *supervisor) stopIfComplete() {
	if !s.complete() {
		return
	}
	for rank, p := range s.procs {
		if p.seat.waits() && !p.lost {
			s.options.Log(rank, "the run has ended before a member gave this peer a place")
		}
	}
	s.stop()
}

// handleReady stores a peer's contact. When all peers are ready, it sends the roster to all; a peer
// that comes back later gets it at once.
func (s *supervisor) handleReady(rank int, where Contact) {
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
		s.sendRoster(p)
		s.faults.greet(s.procs, p)
	case s.ready == len(s.procs):
		s.met = time.Now()
		if !p.seat.late {
			s.sendRoster(s.procs...)
		}
		s.change(nil)
	}
	if p.seat.late && !known {
		s.sendRoster(p)
	}
}

// sendRoster sends peers the contacts of all peers.
func (s *supervisor) sendRoster(peers ...*process) {
	roster := make([]Contact, len(s.procs))
	for rank, p := range s.procs {
		roster[rank] = p.contact
	}
	for _, p := range peers {
		p.orders <- order{Roster: roster}
	}
}

// handleEnd handles the end of a process. If the end was not due, the peer starts again, is lost, or
// ends the run. The end of a peer that was done changes nothing.
func (s *supervisor) handleEnd(rank int, err error) {
	p := s.procs[rank]
	due := s.stopping || p.failed || p.done
	if !due && s.comesBack(rank, err) {
		return
	}
	s.exited++
	if p.done && !s.stopping {
		p.finished = true
		s.tellFinished(rank)
	}
	if end := p.deathOf(err); !due && !s.goOnWithout(rank, end) {
		s.fail(rank, end)
	}
	if p.lost {
		s.stopIfComplete()
	}
}

// tellFinished tells the peers that still work that a peer has finished. Otherwise a returning peer
// would wait for it, since a finished process cannot answer.
func (s *supervisor) tellFinished(rank int) {
	for _, p := range s.procs {
		if !p.done && !p.lost {
			p.orders <- order{Finished: []int{rank}}
		}
	}
}

// goOnWithout marks a peer as lost and reports true, if the options allow it and others are left.
func (s *supervisor) goOnWithout(rank int, f *Failure) bool {
	p := s.procs[rank]
	others := slices.ContainsFunc(s.procs, func(q *process) bool { return q != p && !q.lost })
	if s.stopping || s.options.Expendable == nil || s.ready < len(s.procs) || !others || !s.options.Expendable(*f) {
		return false
	}
	p.lost = true
	s.options.Log(rank, fmt.Sprintf("%s after round %d: the run goes on without it", f.Reason, p.round))
	s.options.Event(record.Event{Status: &record.Status{Rank: rank, State: record.Lost, Detail: f.Reason}})
	s.agree()
	s.stopIfComplete()
	return true
}

// comesBack restarts a dead peer, now or later, and reports false if it is gone for good.
func (s *supervisor) comesBack(rank int, err error) bool {
	p := s.procs[rank]
	if !p.killed {
		return s.restart(rank, err)
	}
	p.killed = false
	if s.faults.Gone(topology.Rank(rank)) {
		return false
	}
	status := record.Status{Rank: rank, State: record.Returning, Detail: "killed by the script"}
	s.options.Event(record.Event{Status: &status})
	if p.down = s.faults.Dead(topology.Rank(rank)); !p.down {
		s.start(rank)
	}
	return true
}

// change carries out changes of the script.
func (s *supervisor) change(changes []fault.Change) {
	if s.stopping {
		return
	}
	for _, c := range changes {
		if !c.Over {
			s.options.Log(int(c.First()), "fault: "+c.String())
		}
		s.membership(c.Fault)
		if err := s.faults.alter(s.procs, c); err != nil {
			s.options.Log(int(c.First()), err.Error())
		}
	}
	for rank, p := range s.procs {
		if p.down && !s.faults.Dead(topology.Rank(rank)) {
			s.start(rank)
		}
	}
	if s.ready == len(s.procs) {
		s.faults.sendConditions(s.procs)
	}
	s.faults.arm()
}

// restart restarts a peer, unless it has died too often or its process never ran.
func (s *supervisor) restart(rank int, err error) bool {
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
	why := p.deathOf(err).Reason
	where := fmt.Sprintf(" after round %d", p.round)
	if p.dying != nil { // it has said where
		where = ""
	}
	s.options.Log(rank, why+where+": started again")
	s.options.Event(record.Event{Status: &record.Status{Rank: rank, State: record.Returning, Detail: why}})
	s.start(rank)
	return true
}

// fail keeps the first failure and stops the run: later failures of other peers follow from it.
// After an echo it waits for the peer that caused it.
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
		if p.down { // it has no process to wait for
			p.down, p.lost = false, s.options.Expendable != nil
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

// deathOf describes how a process ended: by its own report, or by the error of the system.
func (p *process) deathOf(err error) *Failure {
	if p.dying != nil {
		return p.dying
	}
	if err == nil {
		return &Failure{Reason: "its process ended before its work was done", Code: 1, Died: true}
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return &Failure{Reason: "its process ended: " + err.Error(), Code: exit.ExitCode(), Died: true}
	}
	return &Failure{Reason: err.Error(), Code: 1}
}
