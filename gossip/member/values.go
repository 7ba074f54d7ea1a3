package member

import (
	"slices"

	"gossiptrainer/gossip"
	"gossiptrainer/gossip/view"
)

// Members may choose θ and bits while the run goes on. The choice of an exchange follows from notes that travel with
// the messages. A report says what its member knows. A member that has promised begins no exchange that it knows
// nothing about. So one of the reporters knows each exchange before the next view.

// value returns what the member uses in exchange x, as far as it knows. Of a view that it has not entered it knows how
// that begins.
func value(m *Member, x int) (v view.Value, known bool) {
	w, at := m.working(), m.place.at
	switch {
	case w != nil && (m.place.view+1 >= m.log.Len() || x < m.log.At(m.place.view+1).First):
		c, known := gossip.Chosen(w, x)
		return view.Value{First: x, Scale: c.Scales[0], Second: c.Scales[1], Bits: c.Bits}, known
	case w != nil:
		at = m.log.At(m.place.view + 1).First
	case m.log == nil || m.place.state == nil:
		return v, false
	}
	v = m.log.Begin(m.log.Force(at))
	v.First = x
	return v, !v.Chosen() || x == at
}

// known returns the first exchange in [next, most) whose value the member does not know, most if it knows all.
func known(m *Member, next, most int) int {
	for x := next; x < most; x++ {
		if _, known := value(m, x); !known {
			return x
		}
	}
	return most
}

// values lists what the member knows, from before the first exchange that it has not mixed. The list is empty where
// nothing is chosen, and from a leaver that has ended.
func values(m *Member) (all []view.Value) {
	next, at := m.Next()
	if v, known := value(m, at); !known || !v.Chosen() || m.place.standing == Leaving {
		return nil
	}
	first := at
	for at-first < span(m) && first > 0 {
		if _, known := value(m, first-1); !known {
			break
		}
		first--
	}
	var last view.Value
	for x := first; x < max(m.place.promise, next, at+1); x++ {
		v, known := value(m, x)
		if !known {
			break
		}
		last.First = x
		if v != last {
			all = append(all, v)
		}
		last = v
	}
	return all
}

// torn lists the messages of the dead that the member has recovered wrongly. They stay so.
func torn(m *Member) (all []view.Loss) {
	w := m.working()
	if w == nil {
		return nil
	}
	_, at := m.Next()
	for _, e := range m.log.Row(m.o.Council.ID, at).In {
		if _, dead := m.log.Dead(e.Peer); (dead || slices.Contains(m.place.fence, e.Peer)) && gossip.Torn(w, e.Peer) {
			all = append(all, view.Loss{Receiver: m.o.Council.ID, Sender: e.Peer, Exchange: at})
		}
	}
	return all
}

// A retired machine has finished its view. It answers those that have not.
type retired struct {
	view int
	end  int // the first exchange that it has not mixed
	w    *gossip.Worker
}

// machine returns the machine that takes requests and repairs of a view, nil if there is none any more.
func machine(m *Member, v int) *gossip.Worker {
	if w := m.working(); w != nil && m.place.view == v {
		return w
	}
	for _, r := range m.retired {
		if r.view == v {
			return r.w
		}
	}
	return nil
}

// mend takes a request or a repair. One that makes no sense is dropped.
func mend(m *Member, l Letter) {
	w := machine(m, l.View)
	switch {
	case w == nil:
	case l.Frame.Kind == gossip.Request:
		if f, ok := gossip.Answer(w, *l.Frame); ok {
			m.post = append(m.post, Post{f.To, Letter{Frame: &f, View: l.View}})
		}
	case w == m.working():
		f := *l.Frame
		f.Payload = slices.Clone(f.Payload)
		_ = w.Receive(f)
	}
}

// retire drops the machines that no member needs any more.
func retire(m *Member) {
	m.retired = slices.DeleteFunc(m.retired, func(r retired) bool { return r.end <= m.store.oldest })
}
