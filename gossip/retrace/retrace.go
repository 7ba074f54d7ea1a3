// Package retrace computes a run with views again from its log: the log and the seed determine every bit.
//
//	err := retrace.Run(log, maker, retrace.Plan{Rounds: 1000, Every: 1}, watch)
//
// It goes exchange after exchange, with the machines of package gossip. Each member of the view takes part that is not
// off. A dead member takes part as far as others need it: up to its last message that counts, or up to the state that a
// newcomer has from it. By induction every bit follows, see docs/membership.md.
//
// The package opens no link and reads no clock. Messages travel at once.
package retrace

import (
	"errors"
	"fmt"
	"slices"

	"gossiptrainer/gossip"
	"gossiptrainer/gossip/state"
	"gossiptrainer/gossip/view"
	"gossiptrainer/topology"
)

// A Plan says how long the run is, and how its algorithm uses the members.
type Plan struct {
	Rounds int // ≥ 0
	Every  int // H, rounds to an exchange, ≥ 1
	// Together returns the rows of n workers, by rank, for an algorithm that needs all members in every exchange. Then
	// those that are not off have the ranks 0 to n−1. nil: the algorithm mixes by the rows of the log.
	Together func(n int) ([]topology.Sequence, error)
}

// Rows returns the rows of some members that take part, with ids in the place of ranks. It returns nil where the
// algorithm mixes by the rows of the log.
func (p Plan) Rows(ids []view.ID) ([]topology.Sequence, error) {
	if p.Together == nil {
		return nil, nil
	}
	rows, err := p.Together(len(ids))
	for i := range rows {
		rows[i] = named{rows[i], ids}
	}
	return rows, err
}

// A Place is that of a member in a graph, from a round on.
type Place struct {
	Log     *view.Log
	View    int
	ID      view.ID           // the address of its noise and its mini-batches
	Rank    int               // among the members of the view: the number of its shard
	Seat    int               // among those that take part
	Workers int               // that take part
	Rows    topology.Sequence // with ids in the place of ranks
	Rounds  int               // the worker ends before this round
	// Entrance has the state with which the member begins. Its State is nil for founders in round 0. Beside the baggage
	// of the machine it has all that Member.Save entered.
	gossip.Entrance
}

// A Maker makes the members.
type Maker interface {
	// Enter returns a member at its place.
	Enter(p Place) (Member, error)
}

// A Member is a worker with its task.
type Member interface {
	Machine() *gossip.Worker
	// Gradient returns the update direction of round k at x, and the loss.
	Gradient(k int, x []float32) (g []float32, loss float32, err error)
	// Save enters the state of the task into s, which Place.State of a later place then has.
	Save(s *state.Snapshot)
}

// A Watch sees the run.
type Watch interface {
	// Boundary gives the model of a member before it begins round k, or after its last. A dead member is seen as long as
	// it takes part. The model is valid during the call.
	Boundary(k int, id view.ID, x []float32)
	// Restarted gives the model with which a member begins the first round of a view, a clone's included.
	Restarted(v, k int, id view.ID, x []float32)
}

// Unwatched is a Watch that sees nothing.
type Unwatched struct{}

// Boundary does nothing.
func (Unwatched) Boundary(int, view.ID, []float32) {}

// Restarted does nothing.
func (Unwatched) Restarted(int, int, view.ID, []float32) {}

// Run computes the run of a log.
func Run(log *view.Log, maker Maker, p Plan, watch Watch) error {
	if p.Rounds < 0 || p.Every < 1 {
		return fmt.Errorf("retrace: %d rounds with an exchange in every %d: must be at least 0 and 1", p.Rounds, p.Every)
	}
	p.Rounds = view.Rounds(log, p.Rounds, p.Every)
	r := &run{log: log, maker: maker, plan: p, watch: watch, states: map[view.ID]*state.Snapshot{}}
	for v := range log.Len() {
		first, end := r.exchanges(v)
		for first < end {
			next, err := r.stretch(v, first, end)
			if err != nil {
				return fmt.Errorf("retrace: view %d from exchange %d on: %w", v, first, err)
			}
			first = next
		}
	}
	return nil
}

// A run is one in progress.
type run struct {
	log    *view.Log
	maker  Maker
	plan   Plan
	watch  Watch
	states map[view.ID]*state.Snapshot // of all that have taken part, when they stopped
}

// exchanges returns the first exchange of a view, and the first after it: an exchange beyond all if the view is the
// last. Rounds after the last whole exchange are in the last view that has any.
func (r *run) exchanges(v int) (first, end int) {
	all := r.plan.Rounds/r.plan.Every + 1 // with one for the rest
	first, end = r.log.At(v).First, all
	if v+1 < r.log.Len() {
		end = min(end, r.log.At(v+1).First)
	}
	return min(first, all), end
}

// until returns the first exchange that member id takes no part in, of those of a view that end before end.
func (r *run) until(id view.ID, v, end int) int {
	for x := r.log.At(v).First; x < end; x++ {
		if r.log.Off(id, x) || r.plan.Together != nil && view.Out(r.log, id, x) {
			return max(x, min(r.cloned(id, v), end))
		}
	}
	return end
}

// cloned returns the exchange before which a newcomer takes the state of a member of view v, 0 if none does.
func (r *run) cloned(id view.ID, v int) int {
	for w := v + 1; w < r.log.Len(); w++ {
		if _, again := r.log.At(w).SponsorOf(id); again { // later newcomers take what it has in its next life
			break
		}
		for _, s := range r.log.At(w).Sponsors {
			if s.Sponsor == id && r.begins(s.ID, w) {
				return r.log.At(w).First
			}
		}
	}
	return 0
}

// begins reports whether a newcomer of view w begins with the state of the sponsor that w names.
func (r *run) begins(id view.ID, w int) bool {
	first := r.log.At(w).First
	for later := w + 1; later < r.log.Len(); later++ {
		if _, again := r.log.At(later).SponsorOf(id); again {
			return false
		}
		for _, d := range r.log.At(later).Dead {
			if d.ID == id {
				return d.Last >= first
			}
		}
	}
	return true
}

// stretch computes exchanges of a view from first on, as long as the same members take part or the algorithm mixes by
// rows. It returns the first exchange that it has not computed.
func (r *run) stretch(v, first, end int) (next int, err error) {
	s := stretch{run: r, view: v, from: first * r.plan.Every}
	next = end
	until := map[view.ID]int{}
	for _, id := range r.log.At(v).IDs() {
		if until[id] = r.until(id, v, end); until[id] <= first {
			delete(until, id)
		} else if r.plan.Together != nil {
			next = min(next, until[id])
		}
	}
	for _, id := range r.log.At(v).IDs() {
		if at, there := until[id]; there {
			s.ids = append(s.ids, id)
			s.ends = append(s.ends, min(min(at, next)*r.plan.Every, r.plan.Rounds))
		}
	}
	if err := s.enter(first == r.log.At(v).First); err != nil {
		return 0, err
	}
	return next, s.compute()
}

// A stretch is a part of a run in which the same machines work.
type stretch struct {
	*run
	view, from int // from is a round
	ids        []view.ID
	ends       []int // by member: the round before which it ends
	members    []Member
	wants      []wish         // by member
	late       []gossip.Frame // that came too early
}

// A wish is the gradient that a machine waits for.
type wish struct {
	round int
	x     []float32
}

// enter makes the members. A restart is a change of the view.
func (s *stretch) enter(begins bool) error {
	rows, err := s.plan.Rows(s.ids)
	if err != nil {
		return err
	}
	record := s.log.At(s.view)
	s.wants = make([]wish, len(s.ids))
	snapshots := make([]*state.Snapshot, len(s.ids))
	for i, id := range s.ids { // sponsors may go on: their state is taken before
		from, clone := s.log.Admitted(id, s.view)
		if !clone || !begins {
			from = id
		}
		for s.states[from] == nil { // a sponsor that begins itself here has the state of its own
			next, ok := s.log.Admitted(from, s.view)
			if !ok || !begins || next == from {
				break
			}
			from = next
		}
		if snapshots[i] = s.states[from]; snapshots[i] == nil && s.view > 0 {
			return fmt.Errorf("member %d begins with the state of %d, which has none: the log does not fit the run", id, from)
		}
	}
	for i, id := range s.ids {
		_, clone := s.log.Admitted(id, s.view)
		rank, _ := record.Rank(id)
		p := Place{Log: s.log, View: s.view, ID: id, Rank: int(rank), Seat: i, Workers: len(s.ids), Rounds: s.ends[i],
			Rows: view.Rows{Log: s.log, View: s.view, ID: id}}
		if rows != nil {
			p.Rows = rows[i]
		}
		p.Entrance = gossip.Entrance{Round: s.from, State: snapshots[i], Clone: clone && begins,
			Restart: begins && s.view > 0}
		m, err := s.maker.Enter(p)
		if err != nil {
			return fmt.Errorf("member %d: %w", id, err)
		}
		s.members = append(s.members, m)
		if begins {
			s.watch.Restarted(s.view, s.from, id, m.Machine().Params())
		}
	}
	return nil
}

// named are rows with ids in the place of ranks.
type named struct {
	topology.Sequence
	ids []view.ID
}

// At returns a row.
func (n named) At(x int) topology.Row {
	row := n.Sequence.At(x)
	row.In, row.Out = slices.Clone(row.In), slices.Clone(row.Out)
	for i := range row.In {
		row.In[i].Peer = n.ids[row.In[i].Peer]
	}
	for i := range row.Out {
		row.Out[i] = n.ids[row.Out[i]]
	}
	return row
}

// Neighbours returns the ids of the neighbours.
func (n named) Neighbours() []topology.Rank {
	all := n.Sequence.Neighbours()
	for i := range all {
		all[i] = n.ids[all[i]]
	}
	return all
}

// compute takes the rounds of the stretch, one after the other. No member is more than a round ahead of another.
func (s *stretch) compute() error {
	for k := s.from; k < slices.Max(s.ends); k++ {
		for open := true; open; {
			var progress bool
			var err error
			if open, progress, err = s.pass(k); err != nil {
				return err
			}
			if open && !progress {
				return fmt.Errorf("round %d: members wait for messages that do not come: the log does not fit the run", k)
			}
		}
	}
	for i, id := range s.ids {
		w := s.members[i].Machine()
		s.watch.Boundary(s.ends[i], id, w.Params())
		snapshot := new(state.Snapshot)
		snapshot.Save(gossip.BaggageName, gossip.Baggage(w))
		s.members[i].Save(snapshot)
		s.states[id] = snapshot
	}
	return nil
}

// pass gives every member a turn in round k. It reports whether some have not finished the round, and whether something
// has happened.
func (s *stretch) pass(k int) (open, progress bool, err error) {
	for i := range s.ids {
		if s.ends[i] <= k {
			continue
		}
		moved, done, err := s.advance(i, k)
		if err != nil {
			return false, false, fmt.Errorf("member %d round %d: %w", s.ids[i], k, err)
		}
		progress, open = progress || moved, open || !done
	}
	moved, err := s.again()
	return open, progress || moved, err
}

// advance does the work of a member that has come up. It takes the gradient of round k once, and reports whether
// something happened and whether the member has finished round k.
func (s *stretch) advance(i, k int) (moved, done bool, err error) {
	w := s.members[i].Machine()
	for {
		ready := w.Ready()
		if ready.Failed != nil {
			return false, false, ready.Failed
		}
		for _, f := range ready.Send {
			moved = true
			f.Payload = slices.Clone(f.Payload)
			if err := s.deliver(f); err != nil {
				return false, false, err
			}
		}
		if ready.Compute {
			s.wants[i] = wish{ready.Round, ready.At}
		}
		switch want := s.wants[i]; {
		case want.x != nil && want.round == k:
			s.wants[i], moved = wish{}, true
			s.watch.Boundary(k, s.ids[i], want.x)
			g, loss, err := s.members[i].Gradient(k, want.x)
			if err == nil {
				err = w.Gradient(g, loss, 0)
			}
			if err != nil {
				return false, false, err
			}
		case !ready.More:
			return moved, ready.Done || ready.Round > k, nil
		}
	}
}

// deliver hands a frame to its receiver. Those that have stopped need none.
func (s *stretch) deliver(f gossip.Frame) error {
	i := slices.Index(s.ids, f.To)
	if i < 0 {
		return nil
	}
	err := s.members[i].Machine().Receive(f)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, gossip.ErrEarly):
		s.late = append(s.late, f)
		return nil
	case gossip.Refusal(err): // it is off, lost, or the receiver is done
		return nil
	}
	return err
}

// again hands over the frames that came too early. It reports whether one of them was taken.
func (s *stretch) again() (moved bool, err error) {
	late := s.late
	s.late = nil
	for _, f := range late {
		if err := s.deliver(f); err != nil {
			return false, err
		}
	}
	return len(s.late) < len(late), nil
}
