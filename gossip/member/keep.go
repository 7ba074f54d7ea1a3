package member

import (
	"slices"

	"gossiptrainer/gossip/council"
	"gossiptrainer/gossip/view"
)

// A Kept is the state of a member at the beginning of an exchange, with which a run goes on after all members were
// switched off. The report says what the state rests on, see view.Resume.
type Kept struct {
	State
	Report view.Report
}

// Keep returns the state of a member between two exchanges. If the member is in one, Keep lets it begin no other, and
// returns false: the driver calls it again after the next call of Ready. Once it returns true, the member goes on. Keep
// returns false, too, while a change is under way: the log may lack deaths that others know of.
func Keep(m *Member) (k Kept, ok bool) {
	if !settled(m) {
		release(m)
		return k, false
	}
	p := &m.place
	next, at := m.Next()
	if next != at {
		p.hold = next
		m.gate()
		return k, false
	}
	self := m.o.Council.ID
	others := slices.DeleteFunc(m.log.Last().IDs(), func(id ID) bool { return id == self })
	m.note()
	k = Kept{State: State{at, p.state}, Report: view.Report{ID: self, Promise: at, Next: at, State: true,
		Held: held(m, others), Values: values(m)}}
	if k.Snapshot == nil {
		k.Snapshot = saved(m)
	}
	release(m)
	return k, m.failed == nil
}

// release lets a member go on that holds still for Keep.
func release(m *Member) {
	m.place.hold = -1
	m.gate()
}

// settled reports whether the log of a member has all that its state rests on.
func settled(m *Member) bool {
	p := &m.place
	trains := p.member != nil && (p.standing == Working || p.standing == Finished)
	if m.log == nil || m.council.Open() != nil || !trains {
		return false
	}
	_, at := m.Next()
	_, member := m.log.Last().Rank(m.o.Council.ID)
	return member && m.log.Last().First <= at && at > m.log.Begins(m.o.Council.ID)
}

// Resume returns the only member of the last view of a log, see view.Resume, with the state that it has kept.
func Resume(o Options, log *view.Log, s State) (*Member, error) {
	m := newMember(o)
	var err error
	if m.council, err = council.Found(o.Council, log, host{m}); err != nil {
		return nil, err
	}
	m.log, m.noted = log, s.Exchange
	p := &m.place
	p.standing, p.at, p.state = Working, s.Exchange, s.Snapshot
	p.given[s.Exchange] = s.Snapshot
	return m, m.advance()
}
