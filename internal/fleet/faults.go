package fleet

import (
	"slices"
	"time"

	"gossiptrainer/internal/fault"
	"gossiptrainer/internal/record"
	"gossiptrainer/topology"
)

// The supervisor plays a script of faults on real processes. It kills them and starts them again,
// and stops and continues them by signals. It tells them their conditions: to which peers they
// have no link, how slow they are, and the rate of their uplink. It always sends all conditions
// and not their changes, so that a new process has them, too.

// faults is the state of a supervisor's script.
type faults struct {
	*fault.Play
	orders  int           // the most orders to a peer because of the script
	lasted  time.Duration // in earlier parts of the run
	began   time.Time     // of the first round; zero before
	asked   int           // round whose begin the peers must report
	waiting bool          // no peer has reported it
	timer   *time.Timer   // of the next change
	due     <-chan time.Time
}

// newFaults returns the play of a script in a run that has lasted for some time. No fault has
// begun.
func newFaults(script []fault.Fault, lasted time.Duration) *faults {
	const perFault = 3 // its beginning, its end, and the question for its round
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	orders := perFault*len(script) + perFault
	for _, f := range script {
		orders += f.Count // others hear when a newcomer has ended
	}
	return &faults{Play: fault.NewPlay(script), lasted: lasted, orders: orders, timer: timer, due: timer.C}
}

// now returns how long the run has lasted.
func (f *faults) now() time.Duration {
	if f.began.IsZero() {
		return f.lasted
	}
	return f.lasted + time.Since(f.began)
}

// arm sets the timer to the next change.
func (f *faults) arm() {
	if next, ok := f.Next(); ok && !f.began.IsZero() {
		f.timer.Reset(max(0, next-f.now()))
	}
}

// report calls missed for the faults that have not begun as the run ends.
func (f *faults) report(missed func(f fault.Fault, lasted time.Duration)) {
	if missed == nil {
		return
	}
	for _, pending := range f.Pending() {
		missed(pending, f.now())
	}
}

// see handles an event of a peer, and reports whether the run begins with it.
func (f *faults) see(e record.Event) (begins bool) {
	begins = f.began.IsZero() && e.Status != nil && e.Status.State == record.Training
	if begins {
		f.began = time.Now()
	}
	return begins
}

// begins returns the changes that are due when a peer begins a round.
func (f *faults) begins(round int) []fault.Change {
	if f.waiting && round >= f.asked {
		f.waiting = false
	}
	return f.Begun(round, f.now())
}

// alter begins or ends a kill or a hang of a process. Other faults are conditions.
func (f *faults) alter(procs []*process, c fault.Change) error {
	if c.Kind != fault.Kill && c.Kind != fault.Hang {
		return nil
	}
	rank := c.Peers[0]
	p := procs[rank]
	switch {
	case p.done || p.lost:
	case c.Kind == fault.Kill && !c.Over:
		p.killed = !p.down
		p.kill()
	case c.Kind == fault.Hang && !c.Over && !p.down && !p.killed:
		return p.suspend()
	case c.Kind == fault.Hang && c.Over && !f.Hangs(rank):
		p.wake()
	}
	return nil
}

// sendConditions sends the peers their conditions, if these have changed. It asks the peers to report
// when they begin the round of the next fault.
func (f *faults) sendConditions(procs []*process) {
	round, ok := f.Round()
	ask := ok && !(f.waiting && f.asked == round)
	if ask {
		f.asked, f.waiting = round, true
	}
	for rank, p := range procs {
		if p.down || p.lost || p.done {
			continue
		}
		f.sendChanged(topology.Rank(rank), procs)
		if ask {
			p.orders <- order{Tell: &round}
		}
	}
}

// greet sends a returned peer its conditions and the open question.
func (f *faults) greet(procs []*process, p *process) {
	f.sendChanged(topology.Rank(slices.Index(procs, p)), procs)
	if round := f.asked; f.waiting {
		p.orders <- order{Tell: &round}
	}
}

// sendChanged sends a peer its conditions, if they have changed.
func (f *faults) sendChanged(rank topology.Rank, procs []*process) {
	now := Conditions{Bits: f.Rate(rank)}
	if slow := f.Slowdown(rank); slow != 1 {
		now.Slow = slow
	}
	for other := range procs {
		if f.Apart(rank, topology.Rank(other)) {
			now.Cut = append(now.Cut, other)
		}
	}
	if p := procs[rank]; !now.equal(p.conditions) {
		p.conditions = now
		p.orders <- order{Conditions: &now}
	}
}
