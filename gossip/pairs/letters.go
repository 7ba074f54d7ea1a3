package pairs

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/gossip/council"
	"gossiptrainer/gossip/member"
	"gossiptrainer/gossip/state"
	"gossiptrainer/gossip/view"
)

// A link carries the frames between two members, in order and without a gap. View of a letter with a frame is the
// number of the frame. Passed says how many frames have come, and one more. A Want without State asks for that: so
// members find out that a newcomer has begun.
type link struct {
	out  []gossip.Frame // that have not arrived, as far as this end knows
	sent int            // all frames so far
	got  int            // frames that have come
	met  bool           // the other end knows this one
	tell bool           // it does not know of all that have come
	due  time.Duration  // when the first frame of out goes again
	wait time.Duration  // until then, from the time before
}

// known returns the members that have a link, in ascending order.
func known(links map[ID]*link) []ID { return slices.Sorted(maps.Keys(links)) }

// longest bounds how long a frame waits to go again, in times of patience.
const longest = 16

// Ready returns the work that has come up. A driver calls it after every other call.
func (m *Member) Ready() (member.Ready, error) {
	m.begin()
	m.pump()
	for _, id := range known(m.links) {
		if l := m.links[id]; l.tell {
			l.tell = false
			m.post = append(m.post, member.Post{To: id, Letter: member.Letter{Passed: l.got + 1}})
		}
	}
	for _, e := range m.council.Take() {
		m.post = append(m.post, member.Post{To: e.To, Letter: member.Letter{Council: &e.Message}})
	}
	r := member.Ready{Send: m.post, Standing: m.standing}
	m.post = nil
	if m.step.wished && !m.rests() {
		m.step.given = true
		r.Compute, r.Round, r.At = true, m.step.wish.Round, m.step.wish.At
	}
	return r, m.failure()
}

// rests reports whether the member takes no gradient for now: too few members are there, or no majority is heard.
func (m *Member) rests() bool {
	last := m.log.Last()
	_, among := last.Rank(m.o.Council.ID)
	if m.standing == member.Excluded || !among || last.End || m.step.given {
		return m.standing == member.Excluded
	}
	return len(last.Members) < m.o.Fewest || m.council.Waits()
}

// begin lets a newcomer with the state of its sponsor begin, and a member of a new view take its shard. It hands the
// state to newcomers. No gradient is under way meanwhile.
func (m *Member) begin() {
	switch {
	case m.failed != nil || m.log == nil || m.standing == member.Excluded || m.step.given:
		return
	case m.worker == nil && m.state != nil:
		m.enter(m.state)
		m.state = nil
	case m.worker != nil && m.entered < m.log.Len()-1:
		m.enter(nil)
		m.entered = m.log.Len() - 1
	}
	if m.worker == nil || m.failed != nil || len(m.wants) == 0 {
		return
	}
	s := &state.Snapshot{}
	s.Save("machine", gossip.SavePair(m.worker.Pair()))
	m.worker.Save(s)
	for _, id := range m.wants {
		m.post = append(m.post, member.Post{To: id, Letter: member.Letter{State: &member.State{Snapshot: s}}})
	}
	m.wants = nil
}

// pump takes what the machine has made.
func (m *Member) pump() {
	if m.worker == nil || m.failed != nil || m.standing == member.Excluded {
		return
	}
	w := m.worker.Pair()
	r := w.Ready()
	if r.Failed != nil {
		m.failed = r.Failed
		return
	}
	for _, f := range r.Send {
		l := m.links[f.To]
		if l == nil { // it is gone
			continue
		}
		f.Payload = slices.Clone(f.Payload)
		if l.out = append(l.out, f); len(l.out) == 1 {
			l.wait = m.o.Council.Patience
			l.due = m.now + l.wait
		}
		l.sent++
		m.send(l, len(l.out)-1)
	}
	if r.Compute {
		m.step.wish, m.step.wished = r, true
	}
	_, leaves := m.log.Ends(m.o.Council.ID)
	switch {
	case leaves && m.standing == member.Working && gossip.Told(w):
		m.standing = member.Leaving
	case leaves:
	case r.Done:
		m.standing = member.Finished
	case m.standing == member.Finished:
		m.standing = member.Working
	}
}

// send posts a frame that has not arrived.
func (m *Member) send(l *link, i int) {
	f := l.out[i]
	m.post = append(m.post, member.Post{To: f.To, Letter: member.Letter{Frame: &f, View: l.sent - len(l.out) + i}})
}

// Gradient takes the update direction that Ready asked for.
func (m *Member) Gradient(g []float32, loss float32) error {
	if !m.step.wished || m.worker == nil {
		return fmt.Errorf("member %d: gradient: not asked for: call Ready first", m.o.Council.ID)
	}
	m.step.wished, m.step.given = false, false
	return m.worker.Pair().Gradient(g, loss, m.now)
}

// Compute takes the gradient that Ready asked for with the worker. It returns the step, -1 if none is asked for.
func (m *Member) Compute() (k int, err error) {
	if !m.step.given || m.standing == member.Excluded {
		return -1, nil
	}
	k = m.step.wish.Round
	g, loss, err := m.worker.Gradient(k, m.step.wish.At)
	if err != nil {
		return k, err
	}
	return k, m.Gradient(g, loss)
}

// Tick reports the time.
func (m *Member) Tick(now time.Duration) error {
	m.now = now
	if err := m.council.Tick(now); err != nil {
		return err
	}
	switch {
	case !m.council.Done(m.o.Council.ID):
	case m.standing == member.Leaving:
		m.standing = member.Left
	case m.standing != member.Left:
		m.standing = member.Excluded
	}
	if m.log == nil || m.standing == member.Excluded {
		return nil
	}
	m.repeat()
	if now-m.asked >= m.o.Council.Patience {
		m.asked = now
		m.ask()
	}
	return m.failure()
}

// repeat sends frames again that do not arrive, and forgets the links to those that have left.
func (m *Member) repeat() {
	for _, id := range known(m.links) {
		l := m.links[id]
		if _, leaves := m.log.Ends(id); leaves && m.council.Done(id) && m.failed == nil {
			m.drop(id)
			continue
		}
		if len(l.out) > 0 && m.now >= l.due {
			l.wait = min(2*l.wait, longest*m.o.Council.Patience)
			l.due = m.now + l.wait
			for i := range l.out {
				m.send(l, i)
			}
		}
	}
}

// ask asks again for all that does not come.
func (m *Member) ask() {
	self := m.o.Council.ID
	say := func(id ID, l member.Letter) { m.post = append(m.post, member.Post{To: id, Letter: l}) }
	if m.council.Waits() { // perhaps the others have gone on without this one: they answer
		for _, id := range m.log.Watched(m.council.Done) {
			if id != self {
				say(id, member.Letter{})
			}
		}
	}
	if m.worker == nil {
		if sponsor, ok := sponsorOf(m.log, self); ok && m.state == nil {
			say(sponsor, member.Letter{Want: &member.Want{State: true}})
		}
		return
	}
	for _, id := range m.neighbours() {
		if l := m.links[id]; l == nil || !l.met {
			say(id, member.Letter{Want: &member.Want{Sender: id}})
		}
	}
	if m.standing == member.Leaving && gossip.Settled(m.worker.Pair()) && m.delivered() {
		m.over = true
		m.council.Finish()
	}
}

// delivered reports whether all that know this member have what it has sent.
func (m *Member) delivered() bool {
	for _, l := range m.links {
		if l.met && len(l.out) > 0 {
			return false
		}
	}
	return true
}

// sponsorOf returns the sponsor of a newcomer.
func sponsorOf(log *view.Log, id ID) (ID, bool) {
	for v := log.Len() - 1; v >= 0; v-- {
		if sponsor, ok := log.At(v).SponsorOf(id); ok {
			return sponsor, true
		}
	}
	return 0, false
}

// Receive takes a letter. One that has no use is dropped.
func (m *Member) Receive(from ID, l member.Letter) error {
	if m.log != nil && gone(m.log, from) {
		bye := &council.Message{Word: &council.Word{Bye: true}}
		m.post = append(m.post, member.Post{To: from, Letter: member.Letter{Council: bye}})
	}
	switch {
	case l.Council != nil:
		return m.council.Receive(from, *l.Council)
	case m.log == nil || m.standing == member.Excluded || gone(m.log, from) || slices.Contains(m.fence, from):
		return nil
	case l.Want != nil && l.Want.State:
		if sponsor, ok := sponsorOf(m.log, from); ok && sponsor == m.o.Council.ID && !slices.Contains(m.wants, from) {
			m.wants = append(m.wants, from)
		}
	case l.State != nil:
		if sponsor, ok := sponsorOf(m.log, m.o.Council.ID); ok && sponsor == from && m.worker == nil {
			m.state = l.State.Snapshot
		}
	case l.Want != nil, l.Passed > 0, l.Frame != nil:
		m.hear(from, l)
	}
	return m.failure()
}

// gone reports whether a record says that a member is dead: it may not know.
func gone(log *view.Log, id ID) bool {
	_, among := log.Last().Rank(id)
	_, dead := log.Dead(id)
	return dead && !among
}

// takes reports whether another member takes part: it has not left.
func (m *Member) takes(id ID) bool {
	return slices.Contains(m.log.Watched(m.council.Done), id)
}

// hear takes a letter of the link to a member that has begun.
func (m *Member) hear(from ID, one member.Letter) {
	if !m.begun[from] {
		m.begun[from] = true
		m.follow()
	}
	if m.links[from] == nil && m.worker != nil && m.failed == nil && m.takes(from) { // it has had an edge to this one
		m.links[from] = &link{}
		m.failed = gossip.Meet(m.worker.Pair(), from)
		m.follow()
	}
	l := m.links[from]
	if l == nil || m.failed != nil {
		return
	}
	switch {
	case one.Want != nil:
		l.tell = true
	case one.Passed > 0:
		l.met = true
		if arrived := one.Passed - 1 - (l.sent - len(l.out)); arrived > 0 && arrived <= len(l.out) {
			l.out = slices.Delete(l.out, 0, arrived)
			l.wait = m.o.Council.Patience
			l.due = m.now + l.wait
		}
	case !m.over:
		l.tell = true
		if one.View == l.got && one.Frame.From == from {
			l.got++
			_ = m.worker.Pair().Receive(*one.Frame) // a message that makes no sense is dropped
			m.failed = gossip.PairFailure(m.worker.Pair())
		}
	}
}
