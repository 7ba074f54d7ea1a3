// Package view holds the log of the views of a run that members join, leave and die in. A view is a numbered record:
// its members, its graph and the first exchange in which it holds. The log says who sends to whom with what weight in
// every exchange:
//
//	log, err := view.New(topology.Spec{Kind: topology.Ring, Slack: 1}, founders)
//	err = log.Add(record)               // one that Decide made of the reports of the members
//	row := log.Row(3, x)                // of member 3 in exchange x: peers are ids
//
// Members have ids, which stand in the place of ranks in frames and rows. No id is used twice. The rank of a member is
// its place among the ids of its view, in ascending order.
//
// The package opens no link, keeps no time and computes no model. The same log gives the same rows everywhere.
package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gossiptrainer/topology"
)

// An ID is one life of one process. Founders have 0 to n−1, a newcomer has 1 + the largest id ever given.
type ID = topology.Rank

// A Member is a process in a view.
type Member struct {
	ID      ID     `json:"id"`
	Name    string `json:"name,omitempty"`
	Key     string `json:"key,omitempty"`
	Address string `json:"address,omitempty"`
	Samples int    `json:"samples,omitempty"` // they weigh evaluation only
}

// A Sponsor gives a newcomer its state at the beginning of the first exchange of the record.
type Sponsor struct {
	ID      ID `json:"id"`
	Sponsor ID `json:"sponsor"`
}

// A Death says which messages of a member count: those up to exchange Last. Last is −1 or more.
type Death struct {
	ID   ID  `json:"id"`
	Last int `json:"last"`
}

// A Loss is a message that counts, and that one receiver will never have.
type Loss struct {
	Receiver ID  `json:"receiver"`
	Sender   ID  `json:"sender"`
	Exchange int `json:"exchange"`
}

// A Value has the scale of θ and the bits of a message from an exchange on, where the members choose them while the run
// goes on. All members use the same. A number that is not chosen is 0. In a record, a value without any number says
// nothing: the members choose it themselves.
type Value struct {
	First  int     `json:"first"`
	Scale  float64 `json:"scale"`
	Second float64 `json:"second,omitempty"` // the scale of the second lane
	Bits   int     `json:"bits,omitempty"`
}

// same reports whether two values differ in their first exchange at most.
func (v Value) same(o Value) bool {
	v.First = o.First
	return v == o
}

// A Shape is the graph of a view, for people: the log makes it from the graph of the run.
type Shape struct {
	Name  topology.Kind `json:"name"`
	Slack float64       `json:"slack"`
	Seed  uint64        `json:"seed,omitempty,string"`
	Shape string        `json:"shape,omitempty"` // 2x3 of a torus
}

// A Record is a view: number, members, graph and first exchange. It also says how the members came about.
type Record struct {
	View     int       `json:"view"`
	First    int       `json:"first"` // k_v, not less than that of the view before
	Members  []Member  `json:"members"`
	Topology Shape     `json:"topology"`
	Sponsors []Sponsor `json:"sponsors"` // of those that join, in ascending order
	Left     []ID      `json:"left"`     // those that end before First
	Dead     []Death   `json:"dead"`
	Lost     []Loss    `json:"lost"`
	End      bool      `json:"end,omitempty"` // the run ends before First, on purpose
	Values   []Value   `json:"values,omitempty"`
	Theta    float64   `json:"theta,omitempty"`
	Why      string    `json:"why,omitempty"`
	Lineage  uint64    `json:"lineage,omitempty,string"` // of the run: others of its name have other ones; 0: none
	Parent   *Parent   `json:"parent,omitempty"`         // of view 0; nil: the run has none
	Decided  string    `json:"decided_at,omitempty"`
	Digest   string    `json:"digest,omitempty"` // over the states of the view before, at First
}

// A Parent is the run from which another one goes on, because its members had no majority any more.
type Parent struct {
	Lineage uint64 `json:"lineage,string"`
	View    int    `json:"view"` // the last one that was known
}

// String returns lineage and view, as ParseParent reads them.
func (p Parent) String() string { return fmt.Sprintf("%d/%d", p.Lineage, p.View) }

// ParseParent reads lineage and view of a parent, as in 7281/5. It returns nil for "": a run without a parent.
func ParseParent(text string) (*Parent, error) {
	if text == "" {
		return nil, nil
	}
	lineage, number, _ := strings.Cut(text, "/")
	p := new(Parent)
	var err error
	if p.Lineage, err = strconv.ParseUint(lineage, 10, 64); err == nil {
		p.View, err = strconv.Atoi(number)
	}
	if err != nil || p.String() != text || p.View < 0 || p.View >= maxViews {
		return nil, fmt.Errorf("must be a lineage and a number of a view, as 7281/5, got %q", text)
	}
	return p, nil
}

// IDs returns the ids of the members, in ascending order.
func (r *Record) IDs() []ID {
	all := make([]ID, len(r.Members))
	for i, m := range r.Members {
		all[i] = m.ID
	}
	return all
}

// Rank returns the place of a member among the members of the record.
func (r *Record) Rank(id ID) (topology.Rank, bool) {
	i, ok := slices.BinarySearchFunc(r.Members, id, func(m Member, id ID) int { return int(m.ID - id) })
	return topology.Rank(i), ok
}

// SponsorOf returns the sponsor that the record names for a newcomer.
func (r *Record) SponsorOf(id ID) (sponsor ID, ok bool) {
	for _, s := range r.Sponsors {
		if s.ID == id {
			return s.Sponsor, true
		}
	}
	return 0, false
}

// A Log is a list of records that fit each other, from view 0 on. It is not safe for concurrent use.
type Log struct {
	base    topology.Spec
	records []Record
	graphs  []*topology.Graph // by view
	lives   map[ID]life
	ids     []ID // of all lives, in ascending order
}

// A life is what the log knows of an id.
type life struct {
	first   int // the first exchange of the record that admitted it last
	end     int // the first exchange that it does not take part in, because it leaves; forever: none known
	dead    bool
	last    int     // of a dead member: the last exchange whose message counts
	absence []death // all times that it was off
}

// A death takes a member off in the exchanges after last and before until.
type death struct{ last, until int }

// forever is the end of a life without a known end.
const forever = 1 << 40

// New returns the log whose view 0 is founders. Of base the log takes all but the size. It fails if the kind has no
// graph for the number of founders.
func New(base topology.Spec, founders Record) (*Log, error) {
	l := &Log{base: base, lives: map[ID]life{}}
	if err := l.Add(founders); err != nil {
		return nil, err
	}
	return l, nil
}

// Clone returns a copy that grows on its own.
func (l *Log) Clone() *Log {
	c := &Log{base: l.base, records: slices.Clone(l.records), graphs: slices.Clone(l.graphs), lives: map[ID]life{},
		ids: slices.Clone(l.ids)}
	for id, a := range l.lives {
		c.lives[id] = a
	}
	return c
}

// Add appends a record. It fails, and changes nothing, if the record does not fit.
func (l *Log) Add(r Record) error {
	if err := l.check(&r); err != nil {
		return fmt.Errorf("view %d: %w", r.View, err)
	}
	g, err := Graph(l.base, len(r.Members))
	if err != nil {
		return fmt.Errorf("view %d: %w", r.View, err)
	}
	r.Topology = ShapeOf(g)
	l.records, l.graphs = append(l.records, r), append(l.graphs, g)
	for _, id := range r.Left {
		a := l.lives[id]
		a.end = r.First
		l.lives[id] = a
	}
	for _, d := range r.Dead {
		a := l.lives[d.ID]
		a.dead, a.last = true, d.Last
		a.absence = append(slices.Clone(a.absence), death{d.Last, r.First})
		l.lives[d.ID] = a
	}
	for _, m := range r.Members {
		a, known := l.lives[m.ID]
		if !known {
			l.ids = append(l.ids, m.ID)
		}
		if _, joins := r.SponsorOf(m.ID); !known || joins {
			l.lives[m.ID] = life{first: r.First, end: forever, absence: a.absence}
		}
	}
	slices.Sort(l.ids)
	return nil
}

// Len returns the number of records.
func (l *Log) Len() int { return len(l.records) }

// At returns the record of a view. The caller must not change it.
func (l *Log) At(v int) *Record { return &l.records[v] }

// Last returns the newest record.
func (l *Log) Last() *Record { return &l.records[len(l.records)-1] }

// Force returns the number of the view of exchange x: the last that begins at x or before.
func (l *Log) Force(x int) int {
	v := len(l.records) - 1
	for v > 0 && l.records[v].First > x {
		v--
	}
	return v
}

// Graph returns the graph of a view.
func (l *Log) Graph(v int) *topology.Graph { return l.graphs[v] }

// Value returns what a later record than that of view v says about exchange x of it, if one does. Without a record the
// members of the view choose it themselves.
func (l *Log) Value(v, x int) (Value, bool) {
	for w := len(l.records) - 1; w > v; w-- {
		if value, ok := at(l.records[w].Values, x); ok && value.Chosen() {
			return value, true
		}
	}
	return Value{}, false
}

// Begin returns the value with which view v begins. It has no scale where nothing is chosen, and in view 0.
func (l *Log) Begin(v int) Value {
	begin, _ := at(l.records[v].Values, l.records[v].First)
	return begin
}

// Off reports whether nothing of member j counts in exchange x, because a record says that it was dead by then.
func (l *Log) Off(j ID, x int) bool {
	for _, a := range l.lives[j].absence {
		if a.last < x && x < a.until {
			return true
		}
	}
	return false
}

// Lost reports whether a message never reaches its receiver, or is of no use to it.
func (l *Log) Lost(loss Loss) bool {
	for v := range l.records {
		if slices.Contains(l.records[v].Lost, loss) {
			return true
		}
	}
	return false
}

// Out reports whether member j takes no part in exchange x of an algorithm that needs all members. It was dead by then,
// or the survivors lack what counted of it: those that had finished the exchange are dead too.
func Out(l *Log, j ID, x int) bool {
	if l.Off(j, x) {
		return true
	}
	for v := range l.records {
		if l.records[v].lacks(j, x) {
			return true
		}
	}
	return false
}

// lacks reports whether a record says that a receiver lacks the message of member j in exchange x.
func (r *Record) lacks(j ID, x int) bool {
	return slices.ContainsFunc(r.Lost, func(loss Loss) bool { return loss.Sender == j && loss.Exchange == x })
}

// Removes reports whether the record takes member j out of exchange x, see Out.
func (r *Record) Removes(j ID, x int) bool {
	return r.lacks(j, x) || slices.ContainsFunc(r.Dead, func(d Death) bool { return d.ID == j && d.Last < x })
}

// Row returns the row of a member in exchange x, with ids in the place of ranks. The row leaves out messages that are
// off or lost. Their weight falls on the diagonal: nothing is renormalised. A worker that is no member of the view has
// an empty row.
func (l *Log) Row(id ID, x int) topology.Row {
	row := l.whole(id, x)
	kept := row.In[:0]
	for _, e := range row.In {
		if l.Off(e.Peer, x) || l.Lost(Loss{id, e.Peer, x}) {
			row.Self += e.Weight
			continue
		}
		kept = append(kept, e)
	}
	row.In = kept
	return row
}

// whole returns the row of a member in exchange x with all messages.
func (l *Log) whole(id ID, x int) topology.Row {
	v := l.Force(x)
	r := &l.records[v]
	rank, ok := r.Rank(id)
	if !ok {
		return topology.Row{Self: 1}
	}
	row := l.graphs[v].Row(rank, x)
	for i := range row.In {
		row.In[i].Peer = r.Members[row.In[i].Peer].ID
	}
	for i := range row.Out {
		row.Out[i] = r.Members[row.Out[i]].ID
	}
	return row
}

// takes reports whether member id uses a message of sender in exchange x, as far as the log knows.
func (l *Log) takes(id, sender ID, x int) bool {
	return slices.ContainsFunc(l.Row(id, x).In, func(e topology.Edge) bool { return e.Peer == sender })
}

// Begins returns the first exchange of a member: that of the record that admitted it last.
func (l *Log) Begins(id ID) int { return l.lives[id].first }

// Admitted returns the sponsor of a member that begins with the first exchange of a view: that view has admitted it, or
// an earlier one that has no exchange.
func (l *Log) Admitted(id ID, v int) (sponsor ID, ok bool) {
	first := l.records[v].First
	for ; v >= 0 && l.records[v].First == first; v-- {
		if sponsor, ok := l.records[v].SponsorOf(id); ok {
			return sponsor, true
		}
	}
	return 0, false
}

// Ends returns the first exchange that a member does not take part in because it leaves, and whether it leaves.
func (l *Log) Ends(id ID) (x int, leaves bool) {
	a := l.lives[id]
	return a.end, a.end < forever
}

// Dead returns the last exchange of a dead member whose message counts, and whether it is dead.
func (l *Log) Dead(id ID) (last int, dead bool) {
	a := l.lives[id]
	return a.last, a.dead
}

// Known reports whether an id was given.
func (l *Log) Known(id ID) bool {
	_, ok := l.lives[id]
	return ok
}

// Present returns the members that have done all rounds before round k, where every H rounds are an exchange. A dead
// member is among them as long as a message of its counts. At the first round of a view those that join are not.
func (l *Log) Present(k, every int) []ID {
	x := k / every
	before := x
	if k == l.records[l.Force(x)].First*every && k > 0 {
		before = x - 1
	}
	var all []ID
	for _, id := range l.records[l.Force(before)].IDs() {
		absent := func(d death) bool { return d.last < x && before < d.until }
		if !slices.ContainsFunc(l.lives[id].absence, absent) {
			all = append(all, id)
		}
	}
	return all
}
