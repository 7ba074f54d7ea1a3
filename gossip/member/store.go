package member

import (
	"maps"
	"slices"

	"gossiptrainer/gossip"
	"gossiptrainer/gossip/view"
)

// A store keeps the messages of a member. Its own are there for those that lack them. Those received are there until
// they are mixed, and as long as another member may lack them.
type store struct {
	own    map[int][]Letter // by exchange: one letter per receiver and piece
	to     map[int][]ID     // the receivers of these letters
	got    map[key][]gossip.Frame
	views  map[key]int
	mixed  map[ID]int // by sender: the largest exchange whose message was mixed
	fed    map[key]bool
	unread map[ID]*early // by sender: letters of a view that is not known yet
	oldest int           // no exchange before is kept
	parts  int           // of each message of an exchange; 0: not known yet
	pieces int           // of all messages that a member sends to a neighbour in an exchange
}

// A key names a message.
type key struct {
	sender   ID
	exchange int
}

// An early sender has entered a view whose record this member does not have yet.
type early struct {
	view    int
	letters []Letter
	sizes   map[int]int // bytes by exchange
}

func newStore() store {
	return store{own: map[int][]Letter{}, to: map[int][]ID{}, got: map[key][]gossip.Frame{}, views: map[key]int{},
		mixed: map[ID]int{}, fed: map[key]bool{}, unread: map[ID]*early{}}
}

// keep enters a frame of this member.
func (s *store) keep(x int, to ID, l Letter) {
	s.own[x], s.to[x] = append(s.own[x], l), append(s.to[x], to)
}

// same reports whether two frames of a sender are one piece of a message.
func same(a, b gossip.Frame) bool { return a.Round == b.Round && a.Hop == b.Hop && a.Piece == b.Piece }

// take enters a piece of a message, if it is new. The pieces of an exchange have at most most bytes.
func (s *store) take(x int, l Letter, most int) {
	k, size := key{l.Frame.From, x}, len(l.Frame.Payload)
	for _, f := range s.got[k] {
		if same(f, *l.Frame) {
			return
		}
		size += len(f.Payload)
	}
	if x < s.oldest || size > most {
		return
	}
	s.got[k], s.views[k] = append(s.got[k], *l.Frame), l.View
}

// rest forgets which messages a machine has: another one begins. It says how many pieces a message has in each view.
func (s *store) rest(slots gossip.Slots) {
	s.fed, s.parts, s.pieces = map[key]bool{}, slots.Parts(), slots.Parts()*max(1, slots.Hops)
	for k, all := range s.got {
		s.got[k] = slices.DeleteFunc(all, func(f gossip.Frame) bool { return f.Piece >= s.parts })
	}
}

// purge drops the messages that do not carry the label of their exchange any more.
func (s *store) purge(label func(x int) int) {
	for k, v := range s.views {
		if label(k.exchange) != v {
			delete(s.got, k)
			delete(s.views, k)
			delete(s.fed, k)
		}
	}
}

// disown drops the own messages from exchange x on: they are made again.
func (s *store) disown(x int) {
	for at := range s.own {
		if at >= x {
			delete(s.own, at)
			delete(s.to, at)
		}
	}
}

// whole reports whether all pieces of a message are there.
func (s *store) whole(k key) bool { return s.pieces > 0 && len(s.got[k]) == s.pieces }

// held lists the messages of some members.
func (s *store) held(of []ID) []view.Held {
	var all []view.Held
	for _, id := range of {
		h := view.Held{ID: id, Exchanges: []int{}}
		for k := range s.got {
			if k.sender == id && s.whole(k) {
				h.Exchanges = append(h.Exchanges, k.exchange)
			}
		}
		if x, ok := s.mixed[id]; ok && !slices.Contains(h.Exchanges, x) {
			h.Exchanges = append(h.Exchanges, x)
		}
		slices.Sort(h.Exchanges)
		all = append(all, h)
	}
	return all
}

// keys returns the messages from exchange x on, in order.
func (s *store) keys(x int) []key {
	all := slices.DeleteFunc(slices.Collect(maps.Keys(s.got)), func(k key) bool { return k.exchange < x })
	slices.SortFunc(all, func(a, b key) int {
		if a.exchange != b.exchange {
			return a.exchange - b.exchange
		}
		return int(a.sender - b.sender)
	})
	return all
}

// forget drops all before exchange x.
func (s *store) forget(x int) {
	if x <= s.oldest {
		return
	}
	s.oldest = x
	for k := range s.got {
		if k.exchange < x {
			delete(s.got, k)
			delete(s.views, k)
			delete(s.fed, k)
		}
	}
	for at := range s.own {
		if at < x {
			delete(s.own, at)
			delete(s.to, at)
		}
	}
}
