// Package pairs has the machine of one member of a run of AD-PSGD that members join, leave and die in. A Member is a
// gossip.PairWorker for its whole life, with the council that package member has, too. It has no clock and no socket,
// and the same calls as a member.Member:
//
//	m, err := pairs.Found(options, log)
//	for {
//		r := m.Ready()
//		send(r.Send)
//		if r.Compute {
//			m.Gradient(g, loss)              // of step r.Round at r.At
//		}
//		m.Tick(now), or m.Receive(from, letter)
//	}
//
// Workers share no exchanges, so a view holds as soon as a member knows it: all records have 0 as their first exchange.
// The members are those of the log; the graph says who asks whom. Frames are numbered and sent again until they have
// arrived, so that an exchange is open only with one who is dead.
package pairs

import (
	"fmt"
	"slices"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/gossip/council"
	"gossiptrainer/gossip/member"
	"gossiptrainer/gossip/state"
	"gossiptrainer/gossip/view"
)

// ID is that of a member.
type ID = view.ID

// Options are those of a member.
type Options struct {
	Council council.Options // its Margin is not used
	Maker   Maker
	Fewest  int // members below which all wait
}

// A Place is that of a member in a view.
type Place struct {
	Log    *view.Log
	View   int
	ID     ID
	Rank   int // among the members of the view: the number of its shard
	Census gossip.PairPlace
	State  *state.Snapshot // of the sponsor; nil: the member is a founder, or Before is there
	Before Worker          // its worker so far, whose machine goes on; nil: none
}

// A Maker makes the workers.
type Maker interface {
	Enter(p Place) (Worker, error)
}

// A Worker is a machine with its task.
type Worker interface {
	Pair() *gossip.PairWorker
	// Gradient returns the update direction of step k at x, and the loss.
	Gradient(k int, x []float32) (g []float32, loss float32, err error)
	// Save enters the state of the task into s, which the Place of a newcomer then has.
	Save(s *state.Snapshot)
}

// A Member is the machine of one member. It is not safe for concurrent use.
type Member struct {
	o        Options
	council  *council.Council
	log      *view.Log // that of the council; nil: none yet
	worker   Worker    // nil: it has no state yet
	standing member.Standing
	entered  int // the view whose shard the worker has
	links    map[ID]*link
	begun    map[ID]bool // members that are known to have begun
	wants    []ID        // newcomers that want the state
	state    *state.Snapshot
	fence    []ID // of the open CLOSE
	post     []member.Post
	step     step
	now      time.Duration
	asked    time.Duration // when it last asked for something that does not come
	over     bool          // a leaver takes part in no other exchange
	failed   error
}

// A step is the gradient that the machine waits for.
type step struct {
	wish   gossip.Ready
	wished bool
	given  bool // the driver takes it
}

// Found returns a founder. The log has view 0.
func Found(o Options, log *view.Log) (*Member, error) {
	m := newMember(o)
	var err error
	if m.council, err = council.Found(o.Council, log, host{m}); err != nil {
		return nil, err
	}
	m.log = log
	m.enter(nil)
	return m, m.failure()
}

// Join returns a newcomer, which was given the id of its options.
func Join(o Options) (*Member, error) {
	m := newMember(o)
	var err error
	m.council, err = council.Join(o.Council, host{m})
	return m, err
}

func newMember(o Options) *Member {
	return &Member{o: o, links: map[ID]*link{}, begun: map[ID]bool{}}
}

func (m *Member) failure() error {
	if m.failed != nil {
		return fmt.Errorf("member %d: %w", m.o.Council.ID, m.failed)
	}
	return nil
}

// Council returns the council of the member. The caller may ask it for a newcomer, and must not change it otherwise.
func (m *Member) Council() *council.Council { return m.council }

// Worker returns the worker, nil before the member has a state. It computes the gradient that Ready asks for. A driver
// may do that in a goroutine of its own, while the member takes letters.
func (m *Member) Worker() Worker { return m.worker }

// Leave has the member leave at the next change.
func (m *Member) Leave() { m.council.Leave() }

// Standing returns where the member stands.
func (m *Member) Standing() member.Standing { return m.standing }

// Late reports whether the run is over for this member, or will be before it begins.
func (m *Member) Late() bool {
	if m.log == nil {
		return false
	}
	_, among := m.log.Last().Rank(m.o.Council.ID)
	_, ended := view.End(m.log)
	if !among { // one that leaves has ended, and the others go on
		return m.standing == member.Joining || ended
	}
	return ended || m.worker != nil && gossip.Told(m.worker.Pair())
}

// host hears the council for the member.
type host struct{ m *Member }

// Close refuses the letters of the fence from now on, and begins no exchange with it: the report says which are open.
func (h host) Close(c view.Close) { h.m.suspect(c.Fence) }

func (m *Member) suspect(fence []ID) {
	m.fence = fence
	if m.worker != nil && m.failed == nil {
		m.failed = gossip.Suspect(m.worker.Pair(), fence)
	}
}

// View takes a record, which the log has.
func (h host) View(view.Record) {
	m := h.m
	m.log = m.council.Log()
	m.fence = nil
	if m.log == nil { // the first one of a newcomer
		return
	}
	_, among := m.log.Last().Rank(m.o.Council.ID)
	if _, dead := m.log.Dead(m.o.Council.ID); dead && !among {
		m.standing = member.Excluded
		return
	}
	m.follow()
	m.suspect(nil)
}

// Over reports whether the run is over for the host and its neighbours. One that has told its neighbours alone would
// refuse the leaves of those that still work.
func (h host) Over() bool { return h.m.standing == member.Finished }

// Exchanges returns 0: workers share no exchanges.
func (h host) Exchanges() int { return 0 }

// Report returns what the member has. All promise exchange 0, so a record holds as soon as it is applied.
func (h host) Report() view.Report {
	r := view.Report{ID: h.m.o.Council.ID, State: h.m.worker != nil}
	for _, id := range h.m.fence {
		if r.State && gossip.InDoubt(h.m.worker.Pair(), id) {
			r.Held = append(r.Held, view.Held{ID: id, Exchanges: []int{view.Doubt}})
		}
	}
	return r
}

// enter makes the worker of the present view, with the state of the sponsor where the member joins.
func (m *Member) enter(saved *state.Snapshot) {
	v := m.log.Len() - 1
	rank, among := m.log.At(v).Rank(m.o.Council.ID)
	if !among {
		return
	}
	places := seats(m.log, m.o.Council.Most)
	p := Place{Log: m.log, View: v, ID: m.o.Council.ID, Rank: int(rank), State: saved, Before: m.worker,
		Census: gossip.PairPlace{Own: places[m.o.Council.ID], Empty: empty(places, m.o.Council.Most)}}
	if m.worker, m.failed = m.o.Maker.Enter(p); m.failed != nil {
		return
	}
	m.entered = v
	if p.Before == nil {
		m.standing = member.Working
		m.follow()
	}
}

// follow makes the machine one of the present view.
func (m *Member) follow() {
	self, last := m.o.Council.ID, m.log.Last()
	if m.worker == nil || m.failed != nil {
		return
	}
	w := m.worker.Pair()
	for _, id := range known(m.links) {
		if _, dead := m.log.Dead(id); dead && m.failed == nil {
			m.drop(id)
		}
	}
	if m.failed == nil {
		m.failed = gossip.Seat(w, empty(seats(m.log, m.o.Council.Most), m.o.Council.Most))
	}
	_, among := last.Rank(self)
	if last.End || !among {
		w.Hold()
	}
	row := m.neighbours()
	for _, id := range known(m.links) {
		if m.failed == nil && (among || !slices.Contains(last.IDs(), id)) {
			if slices.Contains(row, id) {
				m.failed = gossip.Meet(w, id)
			} else {
				m.failed = gossip.Shun(w, id)
			}
		}
	}
	for _, id := range row {
		if m.failed == nil && m.links[id] == nil && (m.begun[id] || int(id) < len(m.log.At(0).Members)) {
			m.links[id] = &link{}
			m.failed = gossip.Meet(w, id)
		}
	}
}

// neighbours returns those that the graph of the present view names, in ascending order.
func (m *Member) neighbours() []ID {
	r := m.log.Last()
	rank, among := r.Rank(m.o.Council.ID)
	if !among {
		return nil
	}
	var all []ID
	for _, peer := range m.log.Graph(m.log.Len()-1).Row(rank, 0).Out {
		all = append(all, r.Members[peer].ID)
	}
	slices.Sort(all)
	return all
}

// drop forgets a member that is gone.
func (m *Member) drop(id ID) {
	delete(m.links, id)
	m.failed = gossip.Part(m.worker.Pair(), id)
}

// seats returns the place of each member in the census. A newcomer takes the first that is free.
func seats(log *view.Log, most int) map[ID]int {
	places := map[ID]int{}
	for v := range log.Len() {
		r := log.At(v)
		free := slices.Repeat([]bool{true}, most)
		for id, at := range places {
			if _, member := r.Rank(id); !member {
				delete(places, id)
			} else {
				free[at] = false
			}
		}
		for _, id := range r.IDs() {
			if _, has := places[id]; !has {
				places[id] = slices.Index(free, true)
				free[places[id]] = false
			}
		}
	}
	return places
}

// empty returns the places that no member has.
func empty(places map[ID]int, most int) []bool {
	all := slices.Repeat([]bool{true}, most)
	for _, at := range places {
		all[at] = false
	}
	return all
}
