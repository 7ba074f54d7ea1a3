package view

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// A Close is one change under way: everything that waits goes into it.
type Close struct {
	Fence  []ID     `json:"fence"` // suspected to be dead: of all CLOSE entries of the change, in ascending order
	Joins  []Member `json:"joins"`
	Leaves []ID     `json:"leaves"`
	Margin int      `json:"margin"`        // exchanges that members may still begin; any number ≥ 0 is right
	End    bool     `json:"end,omitempty"` // the run ends
}

// Held lists exchanges of which the reporter has received or mixed the message of a member in the fence.
type Held struct {
	ID        ID    `json:"id"`
	Exchanges []int `json:"exchanges"`
}

// Doubt stands in Held where workers share no exchanges. An average with the suspect is open, and no message says
// whether its other end has moved.
const Doubt = -1

// A Report is the answer of a member, or of a leaver that has not ended, to a Close.
type Report struct {
	ID      ID     `json:"id"`
	Promise int    `json:"promise"` // it begins no such exchange, and no later one, before it has the next record
	Next    int    `json:"next"`    // the first exchange that it has not mixed
	State   bool   `json:"state"`   // whether it has a state; a newcomer lacks one at first
	Held    []Held `json:"held"`    // of all that are fenced, now or before
	// Values are those that the reporter knows, from Next or before on. The last one holds up to Promise.
	Values []Value `json:"values,omitempty"`
	// Torn are messages of the dead, or fenced, that the reporter has recovered wrongly and cannot repair.
	Torn []Loss `json:"torn,omitempty"`
}

// value returns the value of exchange x, if the reporter knows it.
func (r *Report) value(x int) (Value, bool) {
	if x >= max(r.Promise, r.Next+1) {
		return Value{}, false
	}
	return at(r.Values, x)
}

// at returns the last of some values that holds in exchange x.
func at(values []Value, x int) (v Value, ok bool) {
	for _, next := range values {
		if next.First > x {
			break
		}
		v, ok = next, true
	}
	return v, ok
}

// has reports whether the reporter has a message.
func (r *Report) has(sender ID, x int) bool {
	for _, h := range r.Held {
		if h.ID == sender && slices.Contains(h.Exchanges, x) {
			return true
		}
	}
	return false
}

// ErrNoState says that only newcomers without a state would remain.
var ErrNoState = errors.New("no member with a state would remain")

// Watched returns the members of the last view, and the leavers that have not ended: done lists those that have. A
// change needs the reports of all of them outside the fence.
func (l *Log) Watched(done func(ID) bool) []ID {
	var all []ID
	for _, id := range l.ids {
		_, member := l.Last().Rank(id)
		_, leaves := l.Ends(id)
		_, dead := l.Dead(id)
		if member || leaves && !dead && !done(id) {
			all = append(all, id)
		}
	}
	return all
}

// Decide returns the next record: a function of the log, a Close and the reports of all that are watched outside the
// fence. Leavers that are not among the reporters have ended. It fails with ErrNoState if only newcomers without a
// state would remain.
func Decide(l *Log, c Close, reports []Report) (Record, error) {
	d := decision{log: l, close: c, reports: slices.Clone(reports), last: map[ID]int{}}
	slices.SortFunc(d.reports, func(a, b Report) int { return cmp.Compare(a.ID, b.ID) })
	r := Record{View: l.Len(), First: l.Last().First, Lineage: l.Last().Lineage}
	for _, report := range d.reports {
		r.First = max(r.First, report.Promise)
	}
	d.first, r.End = r.First, c.End
	d.count()
	for _, id := range c.Fence {
		r.Dead = append(r.Dead, Death{id, d.last[id]})
	}
	postponed := d.postponed()
	for _, id := range postponed {
		r.Dead = append(r.Dead, Death{id, l.Begins(id) - 1})
	}
	slices.SortFunc(r.Dead, func(a, b Death) int { return cmp.Compare(a.ID, b.ID) })
	for _, m := range l.Last().Members {
		switch {
		case slices.Contains(c.Fence, m.ID):
		case slices.Contains(c.Leaves, m.ID):
			r.Left = append(r.Left, m.ID)
		default:
			r.Members = append(r.Members, m)
		}
	}
	slices.Sort(r.Left)
	newcomers := slices.Clone(postponed)
	for _, m := range c.Joins {
		r.Members, newcomers = append(r.Members, m), append(newcomers, m.ID)
	}
	slices.SortFunc(r.Members, func(a, b Member) int { return cmp.Compare(a.ID, b.ID) })
	slices.Sort(newcomers)
	var err error
	if r.Sponsors, err = d.sponsors(&r, newcomers); err != nil {
		return Record{}, err
	}
	r.Lost, r.Values = d.lost(), d.values()
	return r, nil
}

// A decision is one in the making.
type decision struct {
	log     *Log
	close   Close
	reports []Report // in ascending order
	first   int
	last    map[ID]int // of all in the fence
}

// report returns the report of a member, nil if there is none.
func (d *decision) report(id ID) *Report {
	i, ok := slices.BinarySearchFunc(d.reports, id, func(r Report, id ID) int { return cmp.Compare(r.ID, id) })
	if !ok {
		return nil
	}
	return &d.reports[i]
}

// count finds the last messages that count. A message counts if a report lists it, or if something rests on it that
// counts: then the row that used it can be computed again.
func (d *decision) count() {
	for _, id := range d.close.Fence {
		last := d.log.Begins(id) - 1
		for _, r := range d.reports {
			for _, h := range r.Held {
				for _, x := range h.Exchanges {
					if h.ID == id && x < d.first && x > last {
						last = x
					}
				}
			}
		}
		d.last[id] = last
	}
	for again := true; again; {
		again = false
		for _, j := range d.log.ids {
			if d.rests(j) {
				again = true
			}
		}
	}
}

// rests enters the messages that the rows of member j rest on, as far as others rest on j. It reports whether one of
// them was not known to count.
func (d *decision) rests(j ID) (more bool) {
	mixed := d.mixed(j)
	for x := d.log.Begins(j); x < mixed; x++ {
		for _, e := range d.log.Row(j, x).In {
			if last, fenced := d.last[e.Peer]; fenced && last < x {
				d.last[e.Peer], more = x, true
			}
		}
	}
	return more
}

// mixed returns the first exchange of member j whose row nothing rests on. It is above 0 for the dead, for leavers that
// have ended, and for the sponsors of newcomers that have a state.
func (d *decision) mixed(j ID) int {
	until := 0
	last, dead := d.last[j]
	if !dead {
		last, dead = d.log.Dead(j)
	}
	if dead {
		until = last
	}
	if end, leaves := d.log.Ends(j); leaves && !dead && d.report(j) == nil {
		until = end
	}
	for v := range d.log.Len() {
		r := d.log.At(v)
		for _, s := range r.Sponsors {
			if s.Sponsor == j && r.First > until && d.stands(s.ID, v) && d.cloned(s.ID) {
				until = r.First
			}
		}
	}
	return until
}

// stands reports whether the sponsor that record v names for a newcomer is the one that it has: no later record names
// another.
func (d *decision) stands(id ID, v int) bool {
	for w := v + 1; w < d.log.Len(); w++ {
		if _, again := d.log.At(w).SponsorOf(id); again {
			return false
		}
	}
	return true
}

// cloned reports whether a newcomer has the state of its sponsor, and something rests on that.
func (d *decision) cloned(id ID) bool {
	if last, fenced := d.last[id]; fenced {
		return last >= d.log.Begins(id)
	}
	if last, dead := d.log.Dead(id); dead {
		return last >= d.log.Begins(id)
	}
	if r := d.report(id); r != nil {
		return r.State
	}
	return true // it has left
}

// postponed returns the newcomers without a state whose sponsor is in the fence.
func (d *decision) postponed() []ID {
	var all []ID
	for v := range d.log.Len() {
		for _, s := range d.log.At(v).Sponsors {
			r := d.report(s.ID)
			_, member := d.log.Last().Rank(s.ID)
			if r != nil && !r.State && member && d.stands(s.ID, v) && slices.Contains(d.close.Fence, s.Sponsor) &&
				!slices.Contains(d.close.Leaves, s.ID) {
				all = append(all, s.ID)
			}
		}
	}
	slices.Sort(all)
	return all
}

// sponsors chooses a sponsor for each newcomer: the member of the new view with a state and the fewest newcomers, of
// several the lowest id.
func (d *decision) sponsors(r *Record, newcomers []ID) ([]Sponsor, error) {
	var able []ID
	for _, m := range r.Members {
		if report := d.report(m.ID); report != nil && report.State {
			able = append(able, m.ID)
		}
	}
	if len(able) == 0 {
		return nil, fmt.Errorf("view %d: %w", r.View, ErrNoState)
	}
	var all []Sponsor
	load := map[ID]int{}
	for _, id := range newcomers {
		best := able[0]
		for _, other := range able {
			if load[other] < load[best] {
				best = other
			}
		}
		load[best]++
		all = append(all, Sponsor{id, best})
	}
	return all, nil
}

// lost lists the messages that count and that a survivor needs, but no member has.
func (d *decision) lost() []Loss {
	var all []Loss
	for _, r := range d.reports {
		for x := max(r.Next, d.log.Begins(r.ID)); x < d.first; x++ {
			for _, e := range d.log.Row(r.ID, x).In {
				last, dead := d.last[e.Peer]
				if !dead {
					last, dead = d.log.Dead(e.Peer)
				}
				if !dead || x > last {
					continue
				}
				loss := Loss{r.ID, e.Peer, x}
				held := slices.ContainsFunc(d.reports, func(other Report) bool { return other.has(e.Peer, x) })
				if !held || slices.Contains(r.Torn, loss) {
					all = append(all, loss)
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b Loss) int {
		return cmp.Or(cmp.Compare(a.Receiver, b.Receiver), cmp.Compare(a.Sender, b.Sender),
			cmp.Compare(a.Exchange, b.Exchange))
	})
	return all
}

// values returns the values from the first exchange on that a reporter has not mixed. A value that one reporter knows
// holds for all, else the value before. No note travels between members that leave each other out, so each would go on
// alone. A slow leaver may lack exchanges of an earlier view, when the members of a later one are far ahead. About what
// these have mixed and do not report, the record says nothing. The last value begins the view: its scale is twice the
// largest, because members meet that were no neighbours.
func (d *decision) values() (all []Value) {
	from := d.first
	for _, r := range d.reports {
		if len(r.Values) > 0 {
			from = min(from, r.Next)
		}
	}
	var known, begin Value
	for x := from; x < max(d.first, from+1); x++ {
		v, ok := d.value(x)
		if ok {
			known, begin.Bits = v, v.Bits
			begin.Scale, begin.Second = max(begin.Scale, v.Scale), max(begin.Second, v.Second)
		} else if d.past(x) {
			known = Value{}
		}
		if known.First = x; known.Chosen() && len(all) == 0 || len(all) > 0 && !all[len(all)-1].same(known) {
			all = append(all, known)
		}
	}
	if len(all) == 0 {
		return nil
	}
	begin.First, begin.Scale, begin.Second = d.first, meeting*begin.Scale, meeting*begin.Second
	if from >= d.first { // all have mixed what they have begun
		all = nil
	}
	return append(all, begin)
}

// past reports whether all reporters that are members in exchange x have mixed it.
func (d *decision) past(x int) bool {
	members := d.log.At(d.log.Force(x))
	return !slices.ContainsFunc(d.reports, func(r Report) bool {
		_, member := members.Rank(r.ID)
		return member && r.Next <= x
	})
}

// value returns what the log says about exchange x, else what a reporter knows.
func (d *decision) value(x int) (Value, bool) {
	if v, ok := d.log.Value(d.log.Force(x), x); ok {
		return v, true
	}
	for _, r := range d.reports {
		if v, ok := r.value(x); ok {
			return v, true
		}
	}
	return Value{}, false
}

// meeting is the factor on θ where members meet that were no neighbours.
const meeting = 2

// Chosen reports whether something is chosen.
func (v Value) Chosen() bool { return v.Scale > 0 || v.Bits > 0 }
