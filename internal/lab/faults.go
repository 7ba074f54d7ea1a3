package lab

import (
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
	return &faults{
		Play: fault.NewPlay(script), lasted: lasted, orders: perFault*len(script) + perFault, timer: timer, due: timer.C,
	}
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

// report tells of the faults that have not begun, as the run ends.
func (f *faults) report(missed func(f fault.Fault, lasted time.Duration)) {
	if missed == nil {
		return
	}
	for _, pending := range f.Pending() {
		missed(pending, f.now())
	}
}

// see takes in what peers report, and reports whether the run begins with it.
func (f *faults) see(e record.Event) (begins bool) {
	begins = f.began.IsZero() && e.Status != nil && e.Status.State == record.Training
	if begins {
		f.began = time.Now()
	}
	return begins
}

// begins takes in that a peer begins a round.
func (f *faults) begins(round int) []fault.Change {
	if f.waiting && round >= f.asked {
		f.waiting = false
	}
	return f.Begun(round, f.now())
}

// alter begins or ends a fault of a process. The rest are conditions.
func (f *faults) alter(procs []*process, c fault.Change) error {
	if c.Kind != fault.Kill && c.Kind != fault.Hang {
		return nil
	}
	rank := c.Peers[0]
	p := procs[rank]
	switch {
	case p.done || p.lost:
	case c.Kind == fault.Kill && !c.Over:
		p.doomed = !p.away
		p.kill()
	case c.Kind == fault.Hang && !c.Over && !p.away && !p.doomed:
		return p.suspend()
	case c.Kind == fault.Hang && c.Over && !f.Hangs(rank):
		p.wake()
	}
	return nil
}

// announce tells all peers what has changed for them, and asks them to tell when they
// begin the round of the next fault.
func (f *faults) announce(procs []*process) {
	round, ok := f.Round()
	ask := ok && !(f.waiting && f.asked == round)
	if ask {
		f.asked, f.waiting = round, true
	}
	for rank, p := range procs {
		if p.away || p.lost || p.done {
			continue
		}
		f.condition(topology.Rank(rank), procs)
		if ask {
			p.orders <- order{Tell: &round}
		}
	}
}

// acquaint tells a peer that has come back what the script makes of it.
func (f *faults) acquaint(procs []*process, p *process) {
	f.condition(topology.Rank(slices.Index(procs, p)), procs)
	if round := f.asked; f.waiting {
		p.orders <- order{Tell: &round}
	}
}

// condition tells a peer its conditions, if they are others than it knows.
func (f *faults) condition(rank topology.Rank, procs []*process) {
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
