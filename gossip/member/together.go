package member

import (
	"slices"

	"gossiptrainer/gossip"
	"gossiptrainer/gossip/retrace"
	"gossiptrainer/gossip/state"
	"gossiptrainer/gossip/view"
	"gossiptrainer/topology"
)

// An all-reduce needs all members in every exchange. The sum of an exchange holds the gradient of a dead member, or it
// does not:
//
//	a survivor has finished x     the gradient counts, and the survivor hands its state on to those that have not
//	none has                      the survivors do x again, from their states at its beginning
//
// From a CLOSE with a death on, no member finishes an exchange with a member of the fence: its report has said that it
// has not. The letters of an attempt carry the number of the record that says who takes part.

// A gathering is what a member of an all-reduce keeps beside its machine.
type gathering struct {
	ids   []ID            // that take part in the exchange in progress
	stamp int             // the record that says so
	start *state.Snapshot // the state at the beginning of exchange at
	at    int
	clone bool // start is that of the sponsor
}

// together reports whether the algorithm needs all members in every exchange.
func together(m *Member) bool { return m.o.Plan.Together != nil }

// partners returns the members that take part in exchange x.
func partners(log *view.Log, x int) []ID {
	return slices.DeleteFunc(log.At(log.Force(x)).IDs(), func(id ID) bool { return view.Out(log, id, x) })
}

// stamp returns the number of the record that says who takes part in exchange x: that of its view, or the last one that
// has taken a member out. The death of a member that the view does not have changes nothing: letters stay valid.
func stamp(log *view.Log, x int) int {
	v := log.Force(x)
	for w := log.Len() - 1; w > v; w-- {
		if slices.ContainsFunc(log.At(v).IDs(), func(id ID) bool { return log.At(w).Removes(id, x) }) {
			return w
		}
	}
	return v
}

// label returns the number that letters of exchange x carry.
func label(m *Member, x int) int {
	if together(m) {
		return stamp(m.log, x)
	}
	return m.log.Force(x)
}

// frozen reports whether the exchange in progress must not end before the next record.
func frozen(m *Member) bool {
	return together(m) && slices.ContainsFunc(m.place.gather.ids, func(id ID) bool {
		return slices.Contains(m.place.fence, id)
	})
}

// gathered puts a place among those that take part.
func gathered(m *Member, at *retrace.Place) error {
	p := &m.place
	g := &p.gather
	g.ids, g.stamp = partners(m.log, p.at), stamp(m.log, p.at)
	g.at, g.start, g.clone = p.at, p.state, p.clone
	at.Seat, at.Workers = slices.Index(g.ids, at.ID), len(g.ids)
	rows, err := m.o.Plan.Rows(g.ids)
	if err == nil {
		at.Rows = rows[at.Seat]
	}
	return err
}

// pass goes on to the next exchange, before which the machine holds still. It reports whether it has.
func pass(m *Member) bool {
	p := &m.place
	next, at := m.Next()
	if !together(m) || next != at || at == p.gather.at {
		return false
	}
	s := saved(m)
	if at < exchanges(m) && !slices.Equal(p.gather.ids, partners(m.log, at)) { // some do not take part any more
		p.at, p.state, p.clone, p.wished = at, s, false, false
		keep(m, at, s)
		return true
	}
	p.gather.at, p.gather.start, p.gather.clone, p.gather.stamp = at, s, false, stamp(m.log, at)
	m.gate()
	return true
}

// saved returns the state of the member.
func saved(m *Member) *state.Snapshot {
	s := new(state.Snapshot)
	s.Save(gossip.BaggageName, gossip.Baggage(m.place.member.Machine()))
	m.place.member.Save(s)
	return s
}

// regather does what a record with deaths means for the exchange in progress.
func regather(m *Member) {
	p := &m.place
	m.store.purge(func(x int) int { return stamp(m.log, x) })
	if m.working() == nil {
		return
	}
	at := p.gather.at
	if _, now := m.Next(); now != at || slices.Equal(p.gather.ids, partners(m.log, at)) {
		return
	}
	m.store.disown(at)
	p.at, p.state, p.clone, p.wished = at, p.gather.start, p.gather.clone, false // again, from the beginning
	keep(m, at, p.gather.start)
}

// lacks reports whether a dead member takes part in the exchange in progress: only another member has its result.
func lacks(m *Member) bool {
	if !together(m) || m.working() == nil || m.place.standing != Working {
		return false
	}
	return slices.ContainsFunc(m.place.gather.ids, func(id ID) bool {
		_, dead := m.log.Dead(id)
		return dead
	})
}

// conclude ends the exchange in progress with the model of a member that has finished it. Replicas have one model. The
// error of this member, and the state of its task, are its own.
func conclude(m *Member, s State) {
	w := m.working()
	_, at := m.Next()
	if w == nil || !lacks(m) || s.Exchange != at+1 {
		return
	}
	own, err := gossip.Conclude(w, s.Snapshot)
	if err != nil {
		return // it is not that of such a worker: another one is asked
	}
	m.place.member.Save(own)
	p := &m.place
	p.at, p.state, p.clone, p.wished = at+1, own, false, false
	keep(m, at+1, own)
	p.gather.ids = nil
}

// awaited reports whether a leaver of an all-reduce may still lack the state at its end.
func awaited(m *Member, x int) bool {
	return together(m) && slices.ContainsFunc(m.log.Watched(m.council.Done), func(id ID) bool {
		end, leaves := m.log.Ends(id)
		return leaves && end == x
	})
}

// row returns the row of the member in exchange x, which is not mixed.
func row(m *Member, x int) topology.Row {
	if rows, err := m.o.Plan.Rows(m.place.gather.ids); err == nil && rows != nil {
		if i := slices.Index(m.place.gather.ids, m.o.Council.ID); i >= 0 {
			return rows[i].At(x)
		}
	}
	return m.log.Row(m.o.Council.ID, x)
}

// held lists the messages of some members. In an all-reduce these are the exchanges that the member has finished, and
// that another may lack: the last one, and the last one of each leaver. No member is further behind, since all need
// all. The state with which a newcomer began is that of a member that has finished those before.
func held(m *Member, of []ID) []view.Held {
	all := m.store.held(of)
	if !together(m) {
		return all
	}
	_, at := m.Next()
	var last []int
	if m.place.member != nil || m.place.state != nil {
		last = []int{at - 1}
		for _, id := range m.log.Watched(m.council.Done) {
			if end, leaves := m.log.Ends(id); leaves && end < at {
				last = append(last, end-1)
			}
		}
	}
	for i, h := range all {
		all[i].Exchanges = []int{}
		if x, ok := m.store.mixed[h.ID]; ok {
			all[i].Exchanges = append(all[i].Exchanges, x)
		}
		for _, x := range last {
			if x >= 0 && !slices.Contains(all[i].Exchanges, x) && slices.Contains(partners(m.log, x), h.ID) {
				all[i].Exchanges = append(all[i].Exchanges, x)
			}
		}
		slices.Sort(all[i].Exchanges)
	}
	return all
}
