package member

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/gossip/council"
	"gossiptrainer/gossip/view"
)

// Ready returns the work that has come up. A driver calls it after every other call.
func (m *Member) Ready() (Ready, error) {
	if err := m.pump(); err != nil {
		return Ready{}, err
	}
	for _, e := range m.council.Take() {
		m.post = append(m.post, Post{e.To, Letter{Council: &e.Message}})
	}
	r := Ready{Send: m.post, Standing: m.place.standing}
	m.post = nil
	if p := &m.place; p.wished && p.member != nil && p.state == nil && !frozen(m) {
		r.Compute, r.Round, r.At = true, p.wish.Round, p.wish.At
	}
	return r, nil
}

// pump moves frames between the machine and the store until nothing moves.
func (m *Member) pump() error {
	for again := true; again; {
		if err := m.advance(); err != nil {
			return err
		}
		if again = m.work(); m.failed != nil {
			return m.advance()
		}
	}
	return nil
}

// working returns the machine that mixes now, nil if there is none.
func (m *Member) working() *gossip.Worker {
	p := &m.place
	if p.member == nil || p.state != nil || p.standing == Excluded {
		return nil
	}
	return p.member.Machine()
}

// work takes what the machine has made, and gives it what has come. It reports whether something moved.
func (m *Member) work() (moved bool) {
	w := m.working()
	if w == nil {
		return false
	}
	moved, more := m.flush(w)
	return m.failed == nil && (m.feed(w) || moved || more)
}

// flush takes what the machine has made. It reports whether there was something, and whether there is more.
func (m *Member) flush(w *gossip.Worker) (moved, more bool) {
	ready := w.Ready()
	if ready.Failed != nil {
		m.failed = ready.Failed
		return false, false
	}
	same, payload := 0, []byte(nil)
	for i, f := range ready.Send {
		moved = true
		if i == same { // the next message, which several neighbours may get
			same, payload = i+gossip.Shared(ready.Send[i:]), slices.Clone(f.Payload)
		}
		f.Payload = payload
		l := Letter{Frame: &f, View: m.place.view}
		if together(m) {
			l.View = m.place.gather.stamp
		}
		if f.Kind == gossip.Data {
			m.store.keep(f.Round/m.o.Plan.Every, f.To, l)
		}
		m.post = append(m.post, Post{f.To, l})
	}
	if ready.Compute {
		m.place.wish, m.place.wished = ready, true
	}
	return moved, ready.More
}

// feed gives the machine the messages that it can take.
func (m *Member) feed(w *gossip.Worker) (moved bool) {
	_, before := m.Next()
	if frozen(m) {
		return false
	}
	for _, k := range m.store.keys(before) { // in the order of exchanges
		if m.store.fed[k] || m.store.views[k] != label(m, k.exchange) || m.log.Force(k.exchange) != m.place.view {
			continue
		}
		if _, at := m.Next(); k.exchange < at {
			continue
		}
		fed := m.store.whole(k)
		for _, f := range m.store.got[k] {
			f.To = m.o.Council.ID // machines read payloads only: the store keeps them for others
			err := w.Receive(f)   // other errors: it is there, or the row has no such message any more
			moved = moved || err == nil
			fed = fed && !errors.Is(err, gossip.ErrEarly)
		}
		m.store.fed[k] = fed
	}
	m.note()
	_, at := m.Next()
	return moved || at > before
}

// note enters the exchanges that have been mixed.
func (m *Member) note() {
	_, at := m.Next()
	if m.place.member == nil {
		m.noted = at
	}
	before := m.noted
	for ; m.noted < at; m.noted++ {
		for _, e := range m.log.Row(m.o.Council.ID, m.noted).In {
			m.store.mixed[e.Peer] = max(m.store.mixed[e.Peer], m.noted)
		}
	}
	if m.log == nil || m.noted == before {
		return
	}
	needed := at
	for _, id := range m.log.Watched(m.council.Done) {
		if end, leaves := m.log.Ends(id); leaves { // it may be far behind, and ends on its own
			needed = min(needed, end)
		}
	}
	m.store.forget(needed - span(m))
	retire(m)
	for x := range m.place.given {
		if x < m.store.oldest && !slices.Contains(m.place.before[:], x) { // its newcomer takes part since
			delete(m.place.given, x)
		}
	}
}

// span returns how many exchanges before its own a member keeps: others may be that far behind. A newcomer has begun no
// view: none ends without it after the first one that has it.
func span(m *Member) int {
	span, first := m.o.Council.Margin+4, m.place.view-1
	if m.place.view < 0 {
		for first = m.log.Len() - 1; first > 0; first-- {
			if _, member := m.log.At(first - 1).Rank(m.o.Council.ID); !member {
				break
			}
		}
	}
	for v := max(0, first); v < m.log.Len(); v++ {
		span += m.log.Graph(v).Reach() + 1
	}
	return span
}

// Lacks returns the members whose messages the present exchange of a member lacks. While it takes a gradient there are
// none: it does not wait.
func Lacks(m *Member) (all []ID) {
	next, at := m.Next()
	if m.working() == nil || next == at || m.place.wished {
		return nil
	}
	for _, e := range m.log.Row(m.o.Council.ID, at).In {
		if !m.store.whole(key{e.Peer, at}) {
			all = append(all, e.Peer)
		}
	}
	return all
}

// Compute takes the gradient that Ready asked for with the member that the maker made. It returns the round, -1 if none
// is asked for: a view has ended meanwhile.
func (m *Member) Compute() (k int, err error) {
	if !m.place.wished || m.working() == nil || frozen(m) {
		return -1, nil
	}
	k = m.place.wish.Round
	g, loss, err := m.place.member.Gradient(k, m.place.wish.At)
	if err != nil {
		return k, err
	}
	return k, m.Gradient(g, loss)
}

// Gradient takes the update direction that Ready asked for.
func (m *Member) Gradient(g []float32, loss float32) error {
	w := m.working()
	if !m.place.wished || w == nil {
		return fmt.Errorf("member %d: gradient: not asked for: call Ready first", m.o.Council.ID)
	}
	m.place.wished = false
	return w.Gradient(g, loss, m.now)
}

// Tick reports the time.
func (m *Member) Tick(now time.Duration) error {
	m.now = now
	if err := m.council.Tick(now); err != nil {
		return err
	}
	switch {
	case !m.council.Done(m.o.Council.ID):
	case m.place.standing == Leaving:
		m.place.standing = Left
	case m.place.standing != Left:
		m.place.standing = Excluded
	}
	if m.log != nil && now-m.asked >= m.o.Council.Patience {
		m.asked = now
		m.ask()
	}
	return nil
}

// ask asks again for all that does not come.
func (m *Member) ask() {
	self := m.o.Council.ID
	if m.council.Waits() { // perhaps the others have gone on without this one: they answer
		for _, id := range m.log.Watched(m.council.Done) {
			if id != self {
				m.post = append(m.post, Post{id, Letter{}})
			}
		}
	}
	if m.place.standing == Joining && m.place.state == nil {
		for v := m.log.Len() - 1; v >= 0; v-- {
			if sponsor, ok := m.log.At(v).SponsorOf(self); ok {
				m.post = append(m.post, Post{sponsor, Letter{Want: &Want{Exchange: m.place.at, State: true}}})
				return
			}
		}
		return
	}
	_, at := m.Next()
	for _, id := range m.council.Log().Watched(m.council.Done) {
		if end, leaves := m.log.Ends(id); leaves && at >= end && id != self {
			m.post = append(m.post, Post{id, Letter{Passed: end}})
		}
	}
	if m.place.standing == Leaving {
		part(m)
	}
	w := m.working()
	if w == nil {
		return
	}
	if lacks(m) {
		for _, id := range m.log.Watched(m.council.Done) {
			if id != self {
				m.post = append(m.post, Post{id, Letter{Want: &Want{Exchange: at + 1, State: true}}})
			}
		}
		return
	}
	for _, e := range row(m, at).In {
		if m.store.whole(key{e.Peer, at}) {
			gossip.AskAgain(w, e.Peer)
			continue
		}
		want := Letter{Want: &Want{Sender: e.Peer, Exchange: at}}
		if _, dead := m.log.Dead(e.Peer); !dead {
			m.post = append(m.post, Post{e.Peer, want})
			continue
		}
		for _, id := range m.log.Watched(m.council.Done) {
			if id != self {
				m.post = append(m.post, Post{id, want})
			}
		}
	}
}

// part ends a leaver once no other needs it.
func part(m *Member) {
	for _, id := range m.log.Watched(m.council.Done) {
		if id != m.o.Council.ID && !m.passed[id] {
			return
		}
	}
	m.council.Finish()
}

// Receive takes a letter. One that has no use is dropped.
func (m *Member) Receive(from ID, l Letter) error {
	if m.log != nil && gone(m.log, from) {
		m.post = append(m.post, Post{from, Letter{Council: &council.Message{Word: &council.Word{Bye: true}}}})
	}
	switch {
	case l.Council != nil:
		return m.council.Receive(from, *l.Council)
	case m.log == nil:
		return nil
	case l.Want != nil:
		m.serve(from, *l.Want)
	case l.State != nil && lacks(m):
		conclude(m, *l.State)
	case l.State != nil:
		m.begin(from, *l.State)
	case l.Passed > 0:
		if end, leaves := m.log.Ends(m.o.Council.ID); leaves && end == l.Passed {
			m.passed[from] = true
		}
	case l.Frame != nil && !m.refuses(from):
		m.keep(from, l)
	}
	return nil
}

// refuses reports whether frames that a member sends come too late. The member is in the fence, or it is dead and a
// change is under way, which must know all that others have. Another member gives such a message to those that lack it.
func (m *Member) refuses(from ID) bool {
	return slices.Contains(m.place.fence, from) || m.council.Open() != nil && gone(m.log, from)
}

// gone reports whether a record says that a member is dead: it may not know.
func gone(log *view.Log, id ID) bool {
	_, member := log.Last().Rank(id)
	_, dead := log.Dead(id)
	return dead && !member
}

// keep enters a frame that counts. No member can be further than the span: such messages would only take memory.
func (m *Member) keep(from ID, l Letter) {
	if l.View >= m.log.Len() {
		await(m, from, l, span(m))
		return
	}
	x := l.Frame.Round / m.o.Plan.Every
	_, at := m.Next()
	if l.Frame.Round < 0 || x > at+span(m) || label(m, x) != l.View || !m.counts(l.Frame.From, x) {
		return
	}
	n := len(m.log.At(m.log.Force(x)).Members)
	if together(m) {
		n = len(partners(m.log, x))
	}
	switch {
	case !sent(m, from, l.Frame, n):
	case l.Frame.Kind != gossip.Data:
		mend(m, l)
	default:
		m.store.take(x, l, most(m, n))
	}
}

// A member that lies may send any frame. Others keep those that an honest member may send, and no more bytes than its
// messages may have. A letter that they drop by mistake comes again: a member asks for what it lacks.

// lanesOf bounds the lanes that share a message: gradient tracking has two.
const lanesOf = 2

// sent reports whether an honest member may send a frame. A message of another member comes only for a dead one, for
// which this member has asked. n members take part in the exchange, or fewer.
func sent(m *Member, from ID, f *gossip.Frame, n int) bool {
	if f.Round < 0 || f.Round%m.o.Plan.Every != m.o.Plan.Every-1 {
		return false
	}
	if f.Kind != gossip.Data {
		return f.From == from
	}
	_, dead := m.log.Dead(f.From)
	return (f.From == from || dead) && f.Piece >= 0 && (m.store.parts == 0 || f.Piece < m.store.parts) &&
		f.Hop >= 0 && f.Hop < hops(m, n)
}

// hops bounds the messages that a member sends to a neighbour in an exchange of n members: those of a ring of an
// all-reduce, or of a server.
func hops(m *Member, n int) int {
	if !together(m) {
		return 1
	}
	return max(2, 2*(n-1))
}

// most returns how many bytes the frames of a member have in an exchange of n members.
func most(m *Member, n int) int {
	if m.o.Payload == 0 {
		return int(^uint(0) >> 1)
	}
	return lanesOf * m.o.Payload * hops(m, n)
}

// await keeps a letter of a view that is not known yet. A member that is alive decides with the others, so they are one
// view ahead, and no more exchanges than the span. Each sends its own messages: repairs are those of known views.
func await(m *Member, from ID, l Letter, span int) {
	f, n := l.Frame, m.o.Council.Most
	if f.Kind != gossip.Data || f.From != from || !sent(m, from, f, n) {
		return
	}
	s := &m.store
	e := s.unread[from]
	switch {
	case e == nil && len(s.unread) >= n, e != nil && l.View < e.view:
		return
	case e == nil || l.View > e.view:
		e = &early{view: l.View, sizes: map[int]int{}}
		s.unread[from] = e
	}
	x := f.Round / m.o.Plan.Every
	size, known := e.sizes[x]
	if slices.ContainsFunc(e.letters, func(has Letter) bool { return same(*has.Frame, *f) }) ||
		!known && len(e.sizes) >= span || len(f.Payload) > most(m, n)-size {
		return
	}
	e.sizes[x] = size + len(f.Payload)
	e.letters = append(e.letters, l)
}

// counts reports whether a message of a member may be used: it is in the view, and neither fenced nor dead before.
func (m *Member) counts(sender ID, x int) bool {
	if _, member := m.log.At(m.log.Force(x)).Rank(sender); !member {
		return false
	}
	if last, dead := m.log.Dead(sender); dead {
		return x <= last
	}
	return !slices.Contains(m.place.fence, sender)
}

// reread takes the letters that were unread.
func reread(m *Member) {
	unread := m.store.unread
	m.store.unread = map[ID]*early{}
	for _, from := range slices.Sorted(maps.Keys(unread)) {
		for _, l := range unread[from].letters {
			m.keep(from, l)
		}
	}
}

// serve answers a Want.
func (m *Member) serve(to ID, w Want) {
	self := m.o.Council.ID
	switch {
	case w.State:
		s := m.place.given[w.Exchange]
		if together(m) && s == nil && m.place.gather.at == w.Exchange {
			s = m.place.gather.start
		}
		if _, member := m.log.Last().Rank(to); together(m) && s != nil && (member || !m.council.Done(to)) {
			m.post = append(m.post, Post{to, Letter{State: &State{w.Exchange, s}}})
			return
		}
		if s != nil && sponsors(m.log, self, to, w.Exchange) {
			m.post = append(m.post, Post{to, Letter{State: &State{w.Exchange, s}}})
		}
	case w.Sender == self:
		for i, l := range m.store.own[w.Exchange] {
			if m.store.to[w.Exchange][i] == to {
				m.post = append(m.post, Post{to, l})
			}
		}
	default:
		k := key{w.Sender, w.Exchange}
		if _, dead := m.log.Dead(w.Sender); !dead || !m.counts(w.Sender, w.Exchange) {
			return
		}
		for _, f := range m.store.got[k] {
			m.post = append(m.post, Post{to, Letter{Frame: &f, View: m.store.views[k]}})
		}
	}
}

// sponsors reports whether the log names a member as the sponsor of a newcomer from an exchange on.
func sponsors(log *view.Log, sponsor, id ID, x int) bool {
	for v := range log.Len() {
		if s, ok := log.At(v).SponsorOf(id); ok && s == sponsor && log.At(v).First == x {
			return true
		}
	}
	return false
}

// gives reports whether the log names a member as the sponsor of a newcomer that begins with exchange x.
func gives(log *view.Log, sponsor ID, x int) bool {
	for v := range log.Len() {
		r := log.At(v)
		if r.First == x && slices.ContainsFunc(r.Sponsors, func(s view.Sponsor) bool { return s.Sponsor == sponsor }) {
			return true
		}
	}
	return false
}

// begin takes the state of the sponsor.
func (m *Member) begin(from ID, s State) {
	p, self := &m.place, m.o.Council.ID
	if p.standing != Joining || p.state != nil || s.Exchange != p.at || slices.Contains(p.fence, from) {
		return
	}
	for v := m.log.Len() - 1; v >= 0; v-- {
		if sponsor, ok := m.log.At(v).SponsorOf(self); ok {
			if sponsor == from && m.log.At(v).First == s.Exchange {
				p.state, p.clone = s.Snapshot, true
				p.given[s.Exchange] = s.Snapshot // it may be a sponsor itself
			}
			return
		}
	}
}
