package lab

import (
	"fmt"
	"slices"
	"time"

	"gossiptrainer/internal/fault"
	"gossiptrainer/internal/record"
	"gossiptrainer/topology"
)

// A script of faults is played on real processes: they are killed and started again,
// stopped and continued by signals, and told with whom they have no link, how slow they
// are, and what their uplink carries. These conditions are told as they are, not as they
// change, so that a process that is started again has them, too.

// Conditions are what a script makes of the links and the speed of a peer.
type Conditions struct {
	Cut  []int   `json:"cut,omitempty"`  // ranks with which it can have no link, ascending
	Slow float64 `json:"slow,omitempty"` // times that gradients take as long; 0 = 1
	Bits float64 `json:"bits,omitempty"` // per second that its uplink carries at most; 0 = as the run file says
}

func (c Conditions) equal(o Conditions) bool {
	return slices.Equal(c.Cut, o.Cut) && c.Slow == o.Slow && c.Bits == o.Bits
}

// faults are the script of a supervisor.
type faults struct {
	*fault.Play
	orders  int           // that a peer can get because of it
	lasted  time.Duration // so long has the run in earlier parts
	began   time.Time     // of the first round; zero before
	asked   int           // round of which the peers tell that they begin it
	waiting bool          // for that
	timer   *time.Timer   // of what comes next
	due     <-chan time.Time
}

// newFaults returns the play of a script of which nothing has happened yet, in a run that
// has lasted for some time.
func newFaults(script []fault.Fault, lasted time.Duration) *faults {
	const perFault = 3 // its beginning, its end, and the question for its round
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return &faults{Play: fault.NewPlay(script), lasted: lasted, orders: perFault*len(script) + perFault, timer: timer, due: timer.C}
}

// now returns how long the run has lasted.
func (f *faults) now() time.Duration {
	if f.began.IsZero() {
		return f.lasted
	}
	return f.lasted + time.Since(f.began)
}

// arm sets the timer to what comes next.
func (f *faults) arm() {
	if next, ok := f.Next(); ok && !f.began.IsZero() {
		f.timer.Reset(max(0, next-f.now()))
	}
}

// play does what is due by now.
func (s *supervisor) play() {
	s.change(s.faults.Until(s.faults.now()))
}

// begins takes in that a peer begins a round.
func (s *supervisor) begins(round int) {
	f := s.faults
	if f.waiting && round >= f.asked {
		f.waiting = false
	}
	s.change(f.Begun(round, f.now()))
}

// see takes in that the first round of the run begins.
func (s *supervisor) see(e record.Event) {
	if e.Status != nil && e.Status.State == record.Training && s.faults.began.IsZero() {
		s.faults.began = time.Now()
		s.play()
	}
}

// change does what changes of the script ask for.
func (s *supervisor) change(changes []fault.Change) {
	if s.stopping {
		return
	}
	for _, c := range changes {
		s.alter(c)
	}
	for rank := range s.procs {
		s.tellConditions(topology.Rank(rank))
	}
	s.askRound()
	s.faults.arm()
}

// alter begins or ends a fault.
func (s *supervisor) alter(c fault.Change) {
	rank := 0
	if len(c.Peers) > 0 {
		rank = int(c.Peers[0])
	}
	p := s.procs[rank]
	if !c.Over {
		s.options.Log(rank, fmt.Sprintf("fault: %v", c.Fault))
	}
	switch {
	case p.done || p.lost:
	case c.Kind == fault.Kill && !c.Over:
		p.doomed = !p.away
		p.kill()
	case c.Kind == fault.Kill && p.away && !s.faults.Dead(topology.Rank(rank)):
		s.start(rank)
	case c.Kind == fault.Hang && !c.Over && !p.away && !p.doomed:
		s.suspend(rank)
	case c.Kind == fault.Hang && c.Over && p.hangs && !s.faults.Hangs(topology.Rank(rank)):
		p.wake()
	}
}

// suspend stops a process until it is woken.
func (s *supervisor) suspend(rank int) {
	p := s.procs[rank]
	if p.cmd.Process == nil {
		return
	}
	if err := p.cmd.Process.Signal(suspendSignal); err != nil {
		s.options.Log(rank, fmt.Sprintf("cannot be made to hang: %v", err))
		return
	}
	p.hangs = true
}

// wake lets a process that hangs go on.
func (p *process) wake() {
	if p.hangs {
		p.hangs = false
		_ = p.cmd.Process.Signal(continueSignal) // fails only if it has ended
	}
}

// resurrect starts a peer again that the script has killed, at once or in its time. It
// reports whether the peer comes back.
func (s *supervisor) resurrect(rank int) bool {
	p := s.procs[rank]
	p.doomed = false
	if s.faults.Gone(topology.Rank(rank)) {
		return false
	}
	s.options.Event(record.Event{Status: &record.Status{Rank: rank, State: record.Returning, Detail: "killed by the script"}})
	if p.away = s.faults.Dead(topology.Rank(rank)); !p.away {
		s.start(rank)
	}
	return true
}

// tellConditions tells a peer what has changed for it.
func (s *supervisor) tellConditions(rank topology.Rank) {
	p := s.procs[rank]
	if s.ready < len(s.procs) || p.away || p.lost || p.done {
		return
	}
	now := Conditions{Bits: s.faults.Rate(rank)}
	if slow := s.faults.Slowdown(rank); slow != 1 {
		now.Slow = slow
	}
	for other := range s.procs {
		if s.faults.Apart(rank, topology.Rank(other)) {
			now.Cut = append(now.Cut, other)
		}
	}
	if !now.equal(p.conditions) {
		p.conditions = now
		p.orders <- order{Conditions: &now}
	}
}

// askRound asks all peers to tell when they begin the round of the next fault.
func (s *supervisor) askRound() {
	f := s.faults
	round, ok := f.Round()
	if !ok || f.waiting && f.asked == round {
		return
	}
	f.asked, f.waiting = round, true
	for _, p := range s.procs {
		if !p.away && !p.lost && !p.done {
			p.orders <- order{Tell: &round}
		}
	}
}

// acquaint tells a peer that has come back what the script makes of it.
func (s *supervisor) acquaint(p *process) {
	s.tellConditions(topology.Rank(slices.Index(s.procs, p)))
	if f := s.faults; f.waiting {
		round := f.asked
		p.orders <- order{Tell: &round}
	}
}
