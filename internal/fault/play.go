package fault

import (
	"cmp"
	"slices"
	"time"

	"gossiptrainer/topology"
)

// A Play is the state of a script during a run: the faults that are due, and those that are active. Faults of one peer
// or link add up: it recovers when all of them are over. A Play is not safe for concurrent use.
type Play struct {
	byRound []entry // not begun yet, the last one first
	byTime  []entry
	active  []active
}

// An entry is a fault with its place in the script.
type entry struct {
	Fault
	number int
}

// An active is a fault that has begun and has not ended.
type active struct {
	entry
	ends time.Duration // Never: it does not end
}

// A Change is a fault that begins, or is over.
type Change struct {
	Fault
	Number int // place in the script, from 0 on
	Over   bool
}

// NewPlay returns the play of a script before its first fault. Faults of one moment begin in the order of the script.
func NewPlay(script []Fault) *Play {
	p := &Play{}
	for i, f := range slices.Backward(script) {
		if f.At.Timed {
			p.byTime = append(p.byTime, entry{f, i})
		} else {
			p.byRound = append(p.byRound, entry{f, i})
		}
	}
	slices.SortStableFunc(p.byRound, func(a, b entry) int { return cmp.Compare(b.At.Round, a.At.Round) })
	slices.SortStableFunc(p.byTime, func(a, b entry) int { return cmp.Compare(b.At.Time, a.At.Time) })
	return p
}

// Rest returns the remaining faults of a script for a run that resumes at a round, after it has lasted for some time.
// Faults that have begun are not played again.
func Rest(script []Fault, round int, lasted time.Duration) []Fault {
	return slices.DeleteFunc(slices.Clone(script), func(f Fault) bool {
		return !f.At.Timed && f.At.Round < round || f.At.Timed && f.At.Time < lasted
	})
}

// Round returns the first round at whose beginning a fault is due, false if there is none.
func (p *Play) Round() (round int, ok bool) {
	last := len(p.byRound) - 1
	if last < 0 {
		return 0, false
	}
	return p.byRound[last].At.Round, true
}

// Pending returns the faults that have not begun, in the order of the script.
func (p *Play) Pending() []Fault {
	all := slices.Concat(p.byRound, p.byTime)
	slices.SortFunc(all, func(a, b entry) int { return cmp.Compare(a.number, b.number) })
	var pending []Fault
	for _, e := range all {
		pending = append(pending, e.Fault)
	}
	return pending
}

// Next returns when a fault begins or ends by time. A round may begin a fault earlier.
func (p *Play) Next() (at time.Duration, ok bool) {
	if last := len(p.byTime) - 1; last >= 0 {
		at, ok = p.byTime[last].At.Time, true
	}
	for _, a := range p.active {
		if a.ends != Never && (!ok || a.ends < at) {
			at, ok = a.ends, true
		}
	}
	return at, ok
}

// Begun begins the faults that are due as the first peer begins a round.
func (p *Play) Begun(round int, now time.Duration) []Change {
	var changes []Change
	for last := len(p.byRound) - 1; last >= 0 && p.byRound[last].At.Round <= round; last-- {
		changes = p.begin(changes, p.byRound[last], now)
		p.byRound = p.byRound[:last]
	}
	return changes
}

// Until ends and begins the faults that are due by now, in the order of their times.
func (p *Play) Until(now time.Duration) []Change {
	var changes []Change
	for {
		at, ok := p.Next()
		if !ok || at > now {
			return changes
		}
		over := slices.IndexFunc(p.active, func(a active) bool { return a.ends == at })
		if over >= 0 {
			changes = append(changes, Change{p.active[over].Fault, p.active[over].number, true})
			p.active = slices.Delete(p.active, over, over+1)
			continue
		}
		last := len(p.byTime) - 1
		changes = p.begin(changes, p.byTime[last], at)
		p.byTime = p.byTime[:last]
	}
}

// begin begins a fault. A fault without a duration does not become active.
func (p *Play) begin(changes []Change, f entry, now time.Duration) []Change {
	changes = append(changes, Change{f.Fault, f.number, false})
	switch {
	case f.Lasts == Never:
		p.active = append(p.active, active{f, Never})
	case f.Lasts > 0:
		p.active = append(p.active, active{f, now + f.Lasts})
	}
	return changes
}

// Apart reports whether two peers must not have a link.
func (p *Play) Apart(i, j topology.Rank) bool {
	return slices.ContainsFunc(p.active, func(a active) bool { return a.Parts(i, j) })
}

// Dead reports whether a killed peer must not be started again yet.
func (p *Play) Dead(rank topology.Rank) bool { return p.is(Kill, rank) }

// Gone reports whether a killed peer never comes back.
func (p *Play) Gone(rank topology.Rank) bool {
	return slices.ContainsFunc(p.active, func(a active) bool {
		return a.Kind == Kill && a.Peers[0] == rank && a.ends == Never
	})
}

// Hangs reports whether a peer is stopped.
func (p *Play) Hangs(rank topology.Rank) bool { return p.is(Hang, rank) }

func (p *Play) is(kind Kind, rank topology.Rank) bool {
	return slices.ContainsFunc(p.active, func(a active) bool { return a.Kind == kind && a.Peers[0] == rank })
}

// Slowdown returns the factor by which the gradients of a peer take longer, 1 without a fault.
func (p *Play) Slowdown(rank topology.Rank) float64 {
	factor := 1.
	for _, a := range p.active {
		if a.Kind == Slow && a.Peers[0] == rank {
			factor *= a.By
		}
	}
	return factor
}

// Rate returns the rate of a peer's uplink in bits per second, 0 if the script does not limit it now.
func (p *Play) Rate(rank topology.Rank) float64 {
	least := 0.
	for _, a := range p.active {
		if a.Kind == Rate && a.Peers[0] == rank && (least == 0 || a.Bits < least) {
			least = a.Bits
		}
	}
	return least
}
