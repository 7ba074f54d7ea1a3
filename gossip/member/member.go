// Package member has the machine of one member of a run that members join, leave and die in. A Member puts a machine of
// package gossip into each view that its council decides. It keeps its promises, hands the model on to newcomers, and
// gives the messages of the dead to those that lack them. It has no clock and no socket:
//
//	m, err := member.Found(options, log)
//	for {
//		r := m.Ready()
//		send(r.Send)
//		if r.Compute {
//			m.Gradient(g, loss)              // of round r.Round at r.At
//		}
//		m.Tick(now), or m.Receive(from, frame)
//	}
//
// The log of views and the seed determine every bit: package retrace computes the run again.
package member

import (
	"fmt"
	"slices"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/gossip/council"
	"gossiptrainer/gossip/retrace"
	"gossiptrainer/gossip/state"
	"gossiptrainer/gossip/view"
)

// ID is that of a member.
type ID = view.ID

// Options are those of a member.
type Options struct {
	Council council.Options
	Maker   retrace.Maker // makes the member in each view
	Plan    retrace.Plan
	Fewest  int // members below which all wait before a view, until there are more
	Payload int // bytes of a message at most; 0: any
}

// A Letter is a message between two members. One of its parts is there.
type Letter struct {
	Council *council.Message
	Frame   *gossip.Frame // of View. Its sender may be another member, which is dead
	View    int
	Want    *Want
	State   *State
	Passed  int // the sender has mixed all exchanges before this one; the receiver leaves there. 0: none
}

// A Want asks for the message of a member, again or in its place, or for the state of a sponsor.
type Want struct {
	Sender   ID
	Exchange int
	State    bool // the state of the receiver at the beginning of Exchange
}

// A State is that of a sponsor at the beginning of an exchange.
type State struct {
	Exchange int
	Snapshot *state.Snapshot // read-only
}

// A Post is a letter to send.
type Post struct {
	To ID
	Letter
}

// Ready is the work a driver must do.
type Ready struct {
	Send    []Post
	Compute bool // the update direction of round Round at the point At, see gossip.Ready
	Round   int
	At      []float32
	Waiting []ID // those whose messages the exchange lacks
	Standing
}

// A Standing is where a member stands.
type Standing int

// The standings of a member.
const (
	Joining  Standing = iota // it has no state yet
	Working                  // it trains
	Leaving                  // it has ended, and others may need it
	Left                     // it has left: no other needs it
	Excluded                 // a record says that it is dead: it may come back as a newcomer
	Finished                 // all rounds are over; others may need it
)

// A Member is the machine of one member. It is not safe for concurrent use.
type Member struct {
	o       Options
	council *council.Council
	log     *view.Log // that of the council; nil: none yet
	place   place
	store   store
	passed  map[ID]bool // of a leaver: those that need it no more
	retired []retired   // machines of earlier views
	post    []Post
	now     time.Duration
	noted   int           // the first exchange that the store does not know to be mixed
	asked   time.Duration // when it last asked for something that does not come
	failed  error
}

// A place is where the member works.
type place struct {
	view     int            // -1: none yet
	member   retrace.Member // nil: none yet
	standing Standing
	at       int                     // the first exchange that it has not mixed, while no machine says it
	state    *state.Snapshot         // with which it begins exchange at; nil: its machine has it
	clone    bool                    // state is the sponsor's
	fence    []ID                    // of the open CLOSE
	promise  int                     // none: -1
	hold     int                     // an exchange that it does not begin before its state is kept; none: -1
	given    map[int]*state.Snapshot // by exchange: its state at the beginning, for newcomers
	before   [3]int                  // the last exchanges of given
	wish     gossip.Ready            // the gradient that the machine waits for
	wished   bool
	gather   gathering // of an all-reduce
}

// Found returns a founder. The log has view 0.
func Found(o Options, log *view.Log) (*Member, error) {
	m := newMember(o)
	var err error
	if m.council, err = council.Found(o.Council, log, host{m}); err != nil {
		return nil, err
	}
	m.log, m.place.standing = log, Working
	return m, m.advance()
}

// Join returns a newcomer, which was given the id of its options.
func Join(o Options) (*Member, error) {
	m := newMember(o)
	var err error
	m.council, err = council.Join(o.Council, host{m})
	return m, err
}

func newMember(o Options) *Member {
	return &Member{o: o, passed: map[ID]bool{},
		place: place{view: -1, promise: -1, hold: -1, given: map[int]*state.Snapshot{}}, store: newStore()}
}

// Council returns the council of the member. The caller may ask it for a newcomer, and must not change it otherwise.
func (m *Member) Council() *council.Council { return m.council }

// Worker returns the worker of the present view, or nil before the first. It computes the gradient that Ready asks
// for. A driver may do that in a goroutine of its own, while the member takes letters.
func (m *Member) Worker() retrace.Member { return m.place.member }

// Leave has the member leave at the next change.
func (m *Member) Leave() { m.council.Leave() }

// Standing returns where the member stands.
func (m *Member) Standing() Standing { return m.place.standing }

// Late reports whether all rounds of the run are over for this member, or will be before it begins.
func (m *Member) Late() bool {
	_, at := m.Next()
	if m.log == nil {
		return false
	}
	_, member := m.log.Last().Rank(m.o.Council.ID)
	_, ended := view.End(m.log)
	return !member && m.place.standing == Joining || ended || at >= exchanges(m)
}

// Next returns the first exchange that the member has not begun, and the first that it has not mixed.
func (m *Member) Next() (next, at int) {
	if m.place.member == nil || m.place.state != nil {
		return m.place.at, m.place.at
	}
	round, begun := gossip.Standing(m.place.member.Machine())
	at = round / m.o.Plan.Every
	if begun || round%m.o.Plan.Every > 0 {
		return at + 1, at
	}
	return at, at
}

// Done returns the number of rounds of the run that a member is past, 0 before it has begun one.
func Done(m *Member) int {
	switch p := &m.place; {
	case p.member == nil && (p.state == nil || p.clone):
		return 0
	case p.standing == Finished:
		return roundsOf(m)
	}
	_, at := m.Next()
	return min(at*m.o.Plan.Every, m.o.Plan.Rounds)
}

// roundsOf returns the number of rounds of the run, as far as the member knows: a record may end it.
func roundsOf(m *Member) int { return view.Rounds(m.log, m.o.Plan.Rounds, m.o.Plan.Every) }

// exchanges returns the number of exchanges of the run, E.
func exchanges(m *Member) int { return roundsOf(m) / m.o.Plan.Every }

// host hears the council for the member.
type host struct{ m *Member }

// Close keeps the promise of the member: it begins no exchange from there on before the next record.
func (h host) Close(c view.Close) {
	h.m.place.fence = c.Fence
	if h.m.place.promise < 0 {
		next, _ := h.m.Next()
		h.m.place.promise = min(exchanges(h.m), known(h.m, next, next+c.Margin))
	}
	h.m.gate()
}

// View takes a record, which the log has.
func (h host) View(r view.Record) {
	m := h.m
	m.log = m.council.Log()
	if m.log == nil { // the first one of a newcomer
		return
	}
	m.place.fence, m.place.promise = nil, -1
	m.read(r)
}

// Over reports whether all exchanges of the run are over for the member.
func (h host) Over() bool {
	_, at := h.m.Next()
	return at >= exchanges(h.m)
}

// Exchanges returns the number of exchanges of the run.
func (h host) Exchanges() int { return exchanges(h.m) }

// Report returns what the member has.
func (h host) Report() view.Report {
	m := h.m
	m.note()
	_, at := m.Next()
	return view.Report{ID: m.o.Council.ID, Promise: m.place.promise, Next: at,
		State: m.place.standing != Joining || m.place.state != nil,
		Held:  held(m, absent(m.log, m.place.fence)), Values: values(m), Torn: torn(m)}
}

// absent returns all that are dead, or fenced.
func absent(log *view.Log, fence []ID) []ID {
	all := slices.Clone(fence)
	for v := range log.Len() {
		for _, d := range log.At(v).Dead {
			if _, dead := log.Dead(d.ID); dead && !slices.Contains(all, d.ID) {
				all = append(all, d.ID)
			}
		}
	}
	slices.Sort(all)
	return all
}

// read does what follows from a record for this member.
func (m *Member) read(r view.Record) {
	self := m.o.Council.ID
	_, joins := r.SponsorOf(self)
	_, member := r.Rank(self)
	_, dead := m.log.Dead(self)
	switch {
	case joins:
		m.place.at, m.place.state = r.First, nil
	case dead && !member:
		m.place.standing = Excluded
		return
	}
	if together(m) {
		regather(m)
	}
	reread(m)
	if !together(m) && m.place.member != nil && m.place.state == nil && len(r.Dead)+len(r.Lost) > 0 {
		m.failed = gossip.Reroute(m.place.member.Machine())
	}
	m.gate()
}

// bound returns the first exchange that the member may not begin in its present view.
func (m *Member) bound() int {
	bound := exchanges(m) + 1
	if m.place.promise >= 0 {
		bound = min(bound, m.place.promise)
	}
	if m.place.view >= 0 && m.place.view+1 < m.log.Len() {
		bound = min(bound, m.log.At(m.place.view+1).First)
	}
	if m.place.hold >= 0 {
		bound = min(bound, m.place.hold)
	}
	if together(m) {
		bound = min(bound, m.place.gather.at+1)
	}
	return bound
}

// gate tells the machine which rounds it may begin.
func (m *Member) gate() {
	if m.failed == nil && m.place.member != nil && m.place.state == nil {
		m.failed = gossip.Gate(m.place.member.Machine(), m.bound()*m.o.Plan.Every)
	}
}

// advance goes on as far as it can: into the next view, if the machine has finished the last.
func (m *Member) advance() error {
	for m.failed == nil && m.log != nil && m.step() {
	}
	if m.failed != nil {
		m.failed = fmt.Errorf("member %d: %w", m.o.Council.ID, m.failed)
	}
	return m.failed
}

// step reports whether something has changed.
func (m *Member) step() bool {
	switch p := &m.place; {
	case p.standing == Joining && p.state == nil, p.standing == Leaving, p.standing == Left, p.standing == Excluded:
		return false
	case p.member == nil || p.state != nil:
		return m.enter()
	default:
		return m.cross()
	}
}

// cross stops the machine of a view whose exchanges are over.
func (m *Member) cross() bool {
	p := &m.place
	next, at := m.Next()
	over := p.view+1 < m.log.Len() && at >= m.log.At(p.view+1).First && next == at
	if !over {
		return pass(m) || finish(m)
	}
	for more := true; more && m.failed == nil; { // its last messages
		_, more = m.flush(p.member.Machine())
	}
	s := saved(m)
	m.retired = append(m.retired, retired{p.view, at, p.member.Machine()})
	p.at, p.state, p.clone = at, s, false
	keep(m, at, s)
	return true
}

// keep keeps the state at the beginning of an exchange for others.
func keep(m *Member, at int, s *state.Snapshot) {
	p := &m.place
	p.given[at] = s
	old := p.before[0]
	if slices.Contains(p.before[:], at) {
		return
	}
	p.before = [...]int{p.before[1], p.before[2], at}
	if !gives(m.log, m.o.Council.ID, old) && !awaited(m, old) { // a newcomer may still ask: it can be slow to come
		delete(p.given, old)
	}
}

// finish notes that all rounds are over.
func finish(m *Member) bool {
	round, begun := gossip.Standing(m.place.member.Machine())
	if round == roundsOf(m) && !begun && m.place.standing == Working {
		m.place.standing = Finished
		return true
	}
	return false
}

// few reports whether a view has too few members to go on. If a later one has enough, they go on until it begins.
func few(m *Member, v int) bool {
	return max(len(m.log.At(v).Members), len(m.log.Last().Members)) < m.o.Fewest
}

// enter begins the exchanges of a view, if no promise forbids it and enough members are there.
func (m *Member) enter() bool {
	p, self := &m.place, m.o.Council.ID
	if end, leaves := m.log.Ends(self); leaves && end <= p.at {
		p.standing = Leaving
		return true
	}
	v := m.log.Force(p.at)
	rank, member := m.log.At(v).Rank(self)
	if !member || p.promise >= 0 && p.promise <= p.at || few(m, v) && p.at < exchanges(m) {
		return false
	}
	entrance := gossip.Entrance{Round: p.at * m.o.Plan.Every, State: p.state, Clone: p.clone,
		Restart: v > 0 && p.at == m.log.At(v).First}
	at := retrace.Place{Log: m.log, View: v, ID: self, Rank: int(rank), Seat: int(rank),
		Workers: len(m.log.At(v).Members), Rows: view.Rows{Log: m.log, View: v, ID: self}, Rounds: roundsOf(m),
		Entrance: entrance}
	if together(m) {
		if m.failed = gathered(m, &at); m.failed != nil {
			return false
		}
	}
	if p.member, m.failed = m.o.Maker.Enter(at); m.failed != nil {
		return false
	}
	p.member.Machine().Whole()
	p.view, p.state, p.clone, p.wished, p.standing = v, nil, false, false, Working
	if together(m) && p.gather.start == nil { // a founder
		p.gather.start = saved(m)
	}
	m.gate()
	m.store.rest(p.member.Machine().Slots())
	return m.failed == nil
}
