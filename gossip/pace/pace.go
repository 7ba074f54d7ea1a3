// Package pace decides which rounds a run has whose workers do not all take equally many steps. A user's script decides
// when its worker steps: it may skip steps, end early, or wait in a collective call. Its worker then stays a member of
// the run that mixes without updates.
//
// A round takes place if some worker steps in it. So the rounds, and all results, depend on the counts of steps alone,
// and never on time. Each worker publishes a State, which only grows. The newest states of all workers are enough: a
// lost one is repaired by the next. A Pace has no clock, socket or goroutine, and is not for concurrent use.
package pace

import (
	"fmt"
	"slices"

	"gossiptrainer/topology"
)

// A Kind is the kind of a collective call.
type Kind string

// The kinds. All workers make the same calls in the same order.
const (
	Barrier   Kind = "barrier"   // waits for all
	Reduce    Kind = "reduce"    // combines numbers of all
	Broadcast Kind = "broadcast" // gives all the bytes of one
	Mean      Kind = "mean"      // averages the models of all
	Refresh   Kind = "refresh"   // changes the set of parameters of all
)

// Valid reports whether k is one of the kinds.
func (k Kind) Valid() bool {
	return k == Barrier || k == Reduce || k == Broadcast || k.all()
}

// all reports whether workers take part too whose scripts have left.
func (k Kind) all() bool { return k == Mean || k == Refresh }

// A Call is a worker's part of a collective call.
type Call struct {
	Kind Kind   `json:"kind"`
	Op   string `json:"op,omitempty"`   // of a Reduce
	Root int    `json:"root,omitempty"` // of a Broadcast
	// Ranks are the workers of a Mean, in ascending order; none: all.
	Ranks []int `json:"ranks,omitempty"`
	At    int   `json:"at"` // rounds that the worker had done when it called
	// Body is what the worker contributes, if it is short; Size is its length where it travels otherwise.
	Body []byte `json:"body,omitempty"`
	Size int64  `json:"size,omitempty"`
}

// agrees reports whether two workers make the same call.
func (c Call) agrees(d Call) bool {
	same := c.Kind == d.Kind && c.Op == d.Op && c.Root == d.Root && slices.Equal(c.Ranks, d.Ranks)
	return same && (c.Kind != Reduce || len(c.Body) == len(d.Body))
}

// Ascending reports whether ranks are workers of a run of size workers, in ascending order.
func Ascending(ranks []int, size int) bool {
	for i, rank := range ranks {
		if rank < 0 || rank >= size || i > 0 && rank <= ranks[i-1] {
			return false
		}
	}
	return true
}

// kept is how many calls a State holds: a worker is at most one call ahead of another.
const kept = 2

// A State is what a worker tells all others of its script. It only grows.
type State struct {
	Reached  int    `json:"reached"`            // 1 + the last round in which the worker stepped
	Finished bool   `json:"finished,omitempty"` // it steps no more
	Left     bool   `json:"left,omitempty"`     // and makes no further call
	Calls    int    `json:"calls,omitempty"`    // that it has made
	Newest   []Call `json:"newest,omitempty"`   // the last of them, at most two, in order
	Passed   int    `json:"passed,omitempty"`   // calls that are over for it
	PassedAt int    `json:"passed_at,omitempty"`
	Pauses   int    `json:"pauses,omitempty"` // odd: it takes no step for now
	Stop     string `json:"stop,omitempty"`   // why its script stops the run, which finishes it
	// Cut is 1 + the calls that it made before it took the end of a stopped run; 0: it has not taken it.
	Cut int `json:"cut,omitempty"`
}

// Paused reports whether the script takes no step for now.
func (s State) Paused() bool { return s.Pauses%2 == 1 }

// Check returns an error if no worker of a run of at most rounds rounds and size workers can have the state.
func (s State) Check(size, rounds int) error {
	switch {
	case s.Reached < 0 || s.Reached > rounds || s.PassedAt < 0 || s.PassedAt > rounds:
		return fmt.Errorf("round %d or %d of %d", s.Reached, s.PassedAt, rounds)
	case s.Calls < 0 || s.Passed < 0 || s.Calls-s.Passed < 0 || s.Calls-s.Passed > 1:
		return fmt.Errorf("%d calls of which %d are over", s.Calls, s.Passed)
	case len(s.Newest) > min(kept, s.Calls) || s.Calls > 0 && len(s.Newest) == 0 && s.Cut == 0:
		return fmt.Errorf("%d of %d calls", len(s.Newest), s.Calls)
	case s.Left && !s.Finished:
		return fmt.Errorf("a worker that has left steps no more")
	case s.Pauses < 0 || (s.Stop != "" || s.Cut != 0) && !s.Finished || len(s.Stop) > MaxStop || s.Cut < 0 ||
		s.Cut > beyond:
		return fmt.Errorf("%d pauses, a stop of %d bytes, calls cut at %d", s.Pauses, len(s.Stop), s.Cut)
	}
	for _, c := range s.Newest {
		if !c.Kind.Valid() || c.At < 0 || c.At > rounds || c.Root < 0 || c.Root >= size || c.Size < 0 ||
			!Ascending(c.Ranks, size) {
			return fmt.Errorf("call %q at round %d, root %d", c.Kind, c.At, c.Root)
		}
	}
	return nil
}

// call returns call number c if the state holds it.
func (s State) call(c int) (Call, bool) {
	i := len(s.Newest) - 1 - (s.Calls - c)
	if i < 0 || i >= len(s.Newest) {
		return Call{}, false
	}
	return s.Newest[i], true
}

// merged returns the newer parts of two states of one worker. A process that began again has an older one at first.
func merged(a, b State) State {
	m := a
	m.Reached = max(a.Reached, b.Reached)
	m.Finished, m.Left = a.Finished || b.Finished, a.Left || b.Left
	if newer(a, b) {
		m.Calls, m.Newest = b.Calls, b.Newest
	}
	m.Pauses = max(a.Pauses, b.Pauses)
	m.Stop, m.Cut = max(a.Stop, b.Stop), max(a.Cut, b.Cut)
	if b.Passed > a.Passed {
		m.Passed, m.PassedAt = b.Passed, b.PassedAt
	}
	return m
}

// A Verdict says what a worker does whose script takes no step.
type Verdict int

// Verdicts.
const (
	Wait    Verdict = iota // nothing is known yet
	StandIn                // the round takes place: mix without an update
	Meet                   // take part in the call, at this round's boundary
	Over                   // no further round takes place
)

// A Pace is one worker's knowledge of the states of all.
type Pace struct {
	self topology.Rank
	all  []State
	met  int // the last call of others in which a worker without a script has taken part, by number
	free bool
	told bool // the script has been told the end
	// ended says that the rounds are over for this worker and its neighbours. A call that all make after their last step
	// waits until then. A worker that met in its last round would wait for ever for one whose rounds are over.
	ended bool
}

// New returns the Pace of worker self of n.
func New(self topology.Rank, n int) *Pace { return &Pace{self: self, all: make([]State, n)} }

// Free says that the workers share no rounds, as those of AD-PSGD. Each ends for itself, when its script makes no
// further call.
func (p *Pace) Free() { p.free = true }

// Own returns the state of this worker, for the others.
func (p *Pace) Own() State { return p.all[p.self] }

func (p *Pace) own() *State { return &p.all[p.self] }

// Step notes that this worker steps in round k.
func (p *Pace) Step(k int) { p.own().Reached = max(p.own().Reached, k+1) }

// Finish notes that this worker steps no more.
func (p *Pace) Finish() { p.own().Finished = true }

// Pause notes that the script of this worker takes no step for now, or that it is back.
func (p *Pace) Pause() { p.own().Pauses++ }

// Leave notes that this worker steps no more and makes no further call.
func (p *Pace) Leave() { p.own().Finished, p.own().Left = true, true }

// Lose notes that another worker is gone for good: it counts as one that has left.
func (p *Pace) Lose(rank topology.Rank) {
	if rank != p.self {
		p.all[rank].Finished, p.all[rank].Left = true, true
	}
}

// Call notes call number c, from 1, of this worker. After a restart the number continues that of its earlier process.
func (p *Pace) Call(c int, call Call) error {
	s := p.own()
	if s.Calls != s.Passed || c <= s.Calls || s.Calls > 0 && c > s.Calls+1 || s.Left {
		return fmt.Errorf("call %d after %d calls, of which %d are over", c, s.Calls, s.Passed)
	}
	if s.Finished {
		call.At = s.Reached // where the peer stands in by now depends on time
	}
	s.Newest = append(s.Newest[:len(s.Newest):len(s.Newest)], call)
	s.Newest = s.Newest[max(0, len(s.Newest)-kept):]
	s.Calls, s.Passed = c, c-1
	return p.check(c)
}

// Pass notes that the call of this worker is over, at the boundary of round k.
func (p *Pace) Pass(k int) {
	p.own().Passed, p.own().PassedAt = p.own().Calls, k
	p.met = max(p.met, p.own().Calls)
}

// Heard takes the state of another worker, which Check has admitted. It returns an error if that one's script makes
// another call than this worker's.
func (p *Pace) Heard(from topology.Rank, s State) error {
	if from == p.self {
		return nil
	}
	p.all[from] = merged(p.all[from], s)
	return p.check(p.own().Calls)
}

// check compares call c of this worker with that of the others.
func (p *Pace) check(c int) error {
	mine, called := p.own().call(c)
	if !called {
		return nil
	}
	for rank := range p.all {
		if theirs, called := p.part(p.all[rank], c); called && !mine.agrees(theirs) {
			return &MismatchError{Call: c, Self: p.self, Peer: topology.Rank(rank), Own: mine, Theirs: theirs}
		}
	}
	return nil
}

// A MismatchError says that two workers make different calls.
type MismatchError struct {
	Call        int
	Self, Peer  topology.Rank
	Own, Theirs Call
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("worker %d is in %s %d, worker %d in %s %d: all workers call the same functions in the same "+
		"order, with equally many values and the same ranks", e.Self, e.Own.Kind, e.Call, e.Peer, e.Theirs.Kind, e.Call)
}

// Waiting reports whether the script of this worker waits in a call.
func (p *Pace) Waiting() bool { return p.own().Calls > p.own().Passed }

// Watched reports whether another worker needs to know the steps of this one: its script waits, has paused or has
// finished.
func (p *Pace) Watched() bool {
	for rank, s := range p.all {
		if topology.Rank(rank) != p.self && (s.Finished || s.Calls > s.Passed || s.Paused()) {
			return true
		}
	}
	return false
}

// Missing returns the workers that have not come to the call in which this one waits, or have not left.
func (p *Pace) Missing() []topology.Rank {
	var missing []topology.Rank
	for rank, s := range p.all {
		if !s.Left && (!p.Waiting() || s.Calls < p.own().Calls) {
			missing = append(missing, topology.Rank(rank))
		}
	}
	return missing
}

// Next says what this worker does at the boundary before round k, while its script takes no step. With Meet it returns
// the number of the call.
func (p *Pace) Next(k int) (v Verdict, call int) {
	last, finished := 0, true
	for _, s := range p.all {
		last, finished = max(last, s.Reached), finished && s.Finished
	}
	if !p.free && !p.ended && finished && last <= k {
		return Over, 0
	}
	if c := p.due(); c > 0 {
		switch at, here, known := p.meeting(c); {
		case known && (p.free || at <= k):
			return Meet, c
		case here && !p.free && at > k:
			return StandIn, 0
		case here:
			return Wait, 0
		}
	}
	switch {
	case p.free && (p.own().Left || p.own().Finished && p.stopped()):
		return Over, 0
	case p.free:
		return Wait, 0
	case last > k:
		return StandIn, 0
	case finished:
		return Over, 0
	}
	return Wait, 0
}

// End notes that this worker has done its rounds, and so have its neighbours. From now on it takes part in the calls
// that scripts make after their last step.
func (p *Pace) End() { p.ended = true }

// due returns the call in which this worker takes part next: that of its script, or one of others; 0: none.
func (p *Pace) due() int {
	if p.Waiting() {
		return p.own().Calls
	}
	if !p.own().Left {
		return 0
	}
	for _, s := range p.all {
		if c, called := s.call(s.Calls); called && s.Calls > s.Passed && c.Kind.all() && s.Calls > p.met {
			return s.Calls
		}
	}
	return 0
}

// Met notes that this worker has taken part in a call of others.
func (p *Pace) Met(c int) { p.met = max(p.met, c) }

// meeting returns the round before whose boundary call c is made. here says whether it is known, and known whether the
// parts of all workers are.
func (p *Pace) meeting(c int) (at int, here, known bool) {
	known = !slices.ContainsFunc(p.all, func(s State) bool {
		_, called := p.part(s, c)
		return !called && !p.absent(s, c)
	})
	for _, s := range p.all {
		call, called := p.part(s, c)
		switch {
		case s.Passed == c && !p.apart(s, c):
			return s.PassedAt, true, known
		case called:
			at = max(at, call.At)
		case p.absent(s, c):
			at = max(at, s.Reached)
		}
	}
	return at, known, known
}

// Calls returns the parts of all workers in call c; those that have left have none.
func (p *Pace) Calls(c int) map[topology.Rank]Call {
	parts := map[topology.Rank]Call{}
	for rank, s := range p.all {
		if call, called := p.part(s, c); called {
			parts[topology.Rank(rank)] = call
		}
	}
	return parts
}
