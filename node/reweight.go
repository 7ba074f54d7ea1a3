package node

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/internal/record"
	"gossiptrainer/internal/state"
	"gossiptrainer/topology"
)

// Under Reweight a neighbour whose link is down for longer than the grace is done
// without: gossip.Membership decides, the driver does what it says. The grace
// follows the rounds of this run, so that a slow run is not torn apart by links
// that come back; a peer that is slow keeps its link, and is waited for.
const (
	leastGrace = time.Second
	graceOf    = 8 // rounds, as they are on average
	memory     = 8 // rounds that make the average
	heartbeat  = 100 * time.Millisecond
)

// A mending is what a driver needs to go on without neighbours.
type mending struct {
	machine gossip.Elastic
	members *gossip.Membership
	save    func(*state.Snapshot)
	left    error         // who has gone on without this worker, and why
	typical time.Duration // round
	ended   time.Duration // since the start: the last round

	inviting chan<- invitation // who comes back at a boundary; nil: nobody
	invited  Guest             // as which
}

// newMending returns nil under other policies.
func newMending(w *Worker) (*mending, error) {
	if w.Lost != Reweight {
		return nil, nil
	}
	machine, ok := w.Machine.(gossip.Elastic)
	if !ok {
		return nil, fmt.Errorf("node: run: worker %d: a %T cannot go on without neighbours", w.Rank, w.Machine)
	}
	if w.Checkpoints != nil && w.Checkpoints.Journal != nil {
		return nil, fmt.Errorf("node: run: worker %d: nobody comes back to an edge that is off: a journal is of no use", w.Rank)
	}
	m := &mending{machine: machine, members: gossip.NewMembership(w.Rank, w.Row, w.Closing), save: w.Save}
	if g := w.Guest; g != nil {
		m.members = gossip.NewGuest(w.Rank, g.Sponsor, w.Closing, g.Exchange, 0)
	}
	if b, ok := w.Machine.(interface{ AtBoundary(func(k int)) }); ok && w.Save != nil {
		b.AtBoundary(m.boundary)
	}
	return m, nil
}

// round notes that a round is over.
func (m *mending) round(now time.Duration) {
	took := now - m.ended
	if m.typical == 0 {
		m.typical = took
	}
	m.typical, m.ended = m.typical+(took-m.typical)/memory, now
}

func (m *mending) grace() time.Duration { return max(leastGrace, graceOf*m.typical) }

// needs reports whether this worker must not leave before that neighbour has.
func (d *driver) needs(rank topology.Rank) bool {
	return d.mending == nil || d.mending.members.Neighbour(rank)
}

// pulse is how often a driver looks whether something has been missing for too
// long.
func (d *driver) pulse() time.Duration {
	if d.mending == nil {
		return time.Second
	}
	return heartbeat
}

// begin puts the edges that there are at the start on record.
func (d *driver) begin() {
	if d.mending == nil {
		return
	}
	from := 0
	if d.w.Guest != nil {
		from = d.w.Guest.Exchange
		d.observe(record.Event{Edge: &record.Edge{Rank: int(d.w.Rank), Peer: int(d.w.Rank), Exchange: from}})
	}
	for _, e := range d.w.Row.In {
		d.recordEdge(e.Peer, from, e.Weight)
	}
}

func (d *driver) recordEdge(peer topology.Rank, exchange int, weight float64) {
	d.observe(record.Event{Edge: &record.Edge{Rank: int(d.w.Rank), Peer: int(peer), Exchange: exchange, Weight: weight}})
}

// met notes that the link to a worker has come up.
func (d *driver) met(peer topology.Rank, process uint64) error {
	if d.mending == nil {
		return nil
	}
	m := d.mending.members
	m.Up(peer, process, time.Since(d.began))
	if m.Gone(peer) { // both had agreed before this worker went on
		d.t.Control(gossip.Control{Kind: gossip.LeavePeer, Peer: peer})
	}
	_, err := d.mend()
	return err
}

// parted notes that the link to a worker has gone down.
func (d *driver) parted(peer topology.Rank) error {
	if d.mending == nil {
		return nil
	}
	d.mending.members.Down(peer, time.Since(d.began))
	_, err := d.mend()
	return err
}

// heard notes what a worker has said about an edge.
func (d *driver) heard(peer topology.Rank, n gossip.Frame) {
	if d.mending != nil && n.Kind == gossip.Member && n.Hop <= int(gossip.Part) {
		d.mending.members.Heard(peer, gossip.Verb(n.Hop), n.Round)
	}
}

// mend does what the membership has decided, and reports whether that was
// anything.
func (d *driver) mend() (acted bool, err error) {
	m := d.mending
	if m == nil || d.done {
		return false, nil
	}
	acts := m.members.Step(gossip.Moment{
		Now: time.Since(d.began), Grace: m.grace(), Next: m.machine.Next(), Waiting: d.waiting, Free: d.w.Asynchronous,
	})
	for _, act := range acts {
		if err := d.act(act); err != nil {
			return true, err
		}
	}
	if m.left != nil && len(d.w.Row.In) > 1 && m.members.Alone() {
		return true, &NetworkError{Op: opJoin, Err: m.left}
	}
	return len(acts) > 0, nil
}

func (d *driver) act(act gossip.Act) error {
	m := d.mending
	switch act.Kind {
	case gossip.Call:
		d.t.Control(gossip.Control{Kind: gossip.CallPeer, Peer: act.Peer})
	case gossip.Tell:
		d.tell(gossip.Frame{To: act.Peer, Kind: gossip.Member, Hop: int(act.Verb), Round: act.Exchange})
	case gossip.Open:
		if err := m.machine.Open(act.Edge, act.Exchange); err != nil {
			return &TrainingError{Rank: d.w.Rank, Round: d.round, Err: err}
		}
		d.log.Warn("closing a gap of the ring", "neighbour", int(act.Peer), "exchange", act.Exchange)
		d.recordEdge(act.Peer, act.Exchange, act.Edge.Weight)
	case gossip.Close:
		err := m.machine.Close(act.Peer, act.Exchange)
		d.recordEdge(act.Peer, act.Exchange, 0)
		return d.judge(err)
	case gossip.Cut:
		if m.members.Gone(act.Peer) {
			d.t.Control(gossip.Control{Kind: gossip.LeavePeer, Peer: act.Peer})
		}
		exchange, err := m.machine.Cut(act.Peer)
		d.log.Warn("going on without a neighbour", "neighbour", int(act.Peer), "exchange", exchange, "why", d.meter.Trouble(act.Peer))
		d.recordEdge(act.Peer, exchange, 0)
		return d.judge(err)
	}
	return nil
}

// standing returns how a worker is doing, who may be none of the first neighbours.
func (d *driver) standing(rank topology.Rank) *standing {
	i := slices.IndexFunc(d.peers, func(s standing) bool { return s.rank == rank })
	if i < 0 {
		i = len(d.peers)
		d.peers = append(d.peers, standing{rank: rank})
	}
	return &d.peers[i]
}

// denied notes that a worker refuses this one, and reports whether that is a
// matter of the two alone. One that this process has never met knows another one,
// which was here before: then it is ErrLeftBehind.
func (d *driver) denied(s *standing, why error) (mutual bool, err error) {
	if d.mending == nil {
		return false, nil
	}
	var no *RefusedError
	if !errors.As(why, &no) || !no.AboutPlace() {
		return false, nil
	}
	if no.Remote && d.anew() && !s.met {
		return false, leftBehind(why)
	}
	if no.Remote {
		d.mending.members.Denied(s.rank)
		d.mending.left = why
	}
	return !no.Remote, nil
}

// anew reports whether this worker has begun at round 0 where the others go on
// without those who die.
func (d *driver) anew() bool { return d.mending != nil && d.w.Guest == nil }

// outrun reports whether a neighbour of the first graph is further ahead than one
// can be that has waited for this worker: it has come back, or has a place that
// others gave it.
func (d *driver) outrun(s *standing, m gossip.Meeting) bool {
	return d.anew() && !d.w.Asynchronous && m.Ours == 0 && m.Theirs > d.slots.Lead && d.mending.members.Neighbour(s.rank)
}
