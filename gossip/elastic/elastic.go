package elastic

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"gossiptrainer/algos"
	"gossiptrainer/gossip"
	"gossiptrainer/topology"
)

// The grace follows the rounds of this run, so that a slow run is not torn apart by links
// that come back; a peer that is slow keeps its link, and is waited for.
const (
	leastGrace = time.Second
	graceOf    = 8 // rounds, as they are on average
	memory     = 8 // rounds that make the average
)

// A Start is what an Elastic begins with.
type Start struct {
	Self    topology.Rank
	Row     topology.Row
	Closing *topology.Closing // who takes the place of a neighbour; nil: nobody
	Rounds  int               // of the run
	// Sponsored says that the worker has come back, and has one edge, to the sponsor that
	// is all of its Row, from the exchange Seat.From on.
	Sponsored bool
	Seat      Seat
}

// A Seat is where a worker that comes back begins.
type Seat struct {
	Round, From int // From is the exchange of Round
}

// A LeftBehindError says that the worker has begun at round 0 where the others have gone on
// without it: it has to ask for a place.
type LeftBehindError struct{ Err error }

func (e *LeftBehindError) Error() string { return e.Err.Error() }

// Unwrap returns how the worker came to know.
func (e *LeftBehindError) Unwrap() error { return e.Err }

// An AloneError says that the worker has no neighbour left, and that one of those it had
// has gone on without it.
type AloneError struct{ Err error }

func (e *AloneError) Error() string { return e.Err.Error() }

// Unwrap returns what that one said.
func (e *AloneError) Unwrap() error { return e.Err }

// An Elastic is the layer that goes on without neighbours that are lost: Membership decides,
// the machine is told.
type Elastic struct {
	gossip.Layer
	machine gossip.Elastic
	start   Start
	slots   gossip.Slots
	free    bool // the worker waits for nobody
	members *Membership
	met     []topology.Rank // by this process
	left    error           // who has gone on without this worker, and why
	pace    pace
	begun   bool
	rest    rest
	say     gossip.Errands
	err     error
}

// A pace is how long rounds take.
type pace struct {
	now     time.Duration
	ended   time.Duration // the last round
	round   int
	typical time.Duration
}

// A rest is where the worker was when it had nothing more to say.
type rest struct {
	waiting []topology.Rank
	done    bool
}

var _ gossip.Layer = (*Elastic)(nil)

// New returns an Elastic around inside, whose machine is machine. It fails where that cannot
// go on without neighbours.
func New(inside gossip.Layer, machine gossip.Machine, s Start) (*Elastic, error) {
	m, ok := machine.(gossip.Elastic)
	if !ok {
		return nil, fmt.Errorf("worker %d: a %T cannot go on without neighbours", s.Self, machine)
	}
	_, free := machine.(gossip.Renewer)
	e := &Elastic{Layer: inside, machine: m, start: s, slots: gossip.SlotsOf(machine), free: free}
	e.pace.round = s.Seat.Round
	if s.Sponsored {
		e.members = NewGuest(s.Self, s.Row.In[0].Peer, s.Closing, s.Seat.From, 0)
	} else {
		e.members = NewMembership(s.Self, s.Row, s.Closing)
	}
	return e, nil
}

// Ready returns that of the layer inside. When that has nothing more to say, the membership
// has.
func (e *Elastic) Ready() gossip.Ready {
	if !e.begun {
		e.begun = true
		e.begin()
	}
	r := e.Layer.Ready()
	if r.Round > e.pace.round {
		e.pace.finish(r.Round)
	}
	if !r.More {
		e.rest = rest{waiting: append(e.rest.waiting[:0], r.Waiting...), done: r.Done}
		r.More = e.mend()
	}
	r.Failed, e.err = errors.Join(r.Failed, e.err), nil
	return e.say.Add(r)
}

// begin puts the edges that there are at the start on record.
func (e *Elastic) begin() {
	if e.start.Sponsored {
		e.edge(e.start.Self, e.start.Seat.From, 0)
	}
	for _, edge := range e.start.Row.In {
		e.edge(edge.Peer, e.start.Seat.From, edge.Weight)
	}
}

func (e *Elastic) edge(peer topology.Rank, exchange int, weight float64) {
	e.say.Note(gossip.Note{Kind: gossip.EdgeIsSet, Peer: peer, Exchange: exchange, Weight: weight})
}

// finish notes that the rounds before round k are over.
func (p *pace) finish(k int) {
	took := p.now - p.ended
	if p.typical == 0 {
		p.typical = took
	}
	p.typical, p.ended, p.round = p.typical+(took-p.typical)/memory, p.now, k
}

func (p *pace) grace() time.Duration { return max(leastGrace, graceOf*p.typical) }

// Tick notes how late it is.
func (e *Elastic) Tick(now time.Duration) error {
	e.pace.now = now
	return e.Layer.Tick(now)
}

// End notes how many rounds there are.
func (e *Elastic) End(rounds int) error {
	e.start.Rounds = rounds
	return e.Layer.End(rounds)
}

// Met notes a link, unless it shows that this worker has been left behind: a neighbour of
// the first graph is further ahead than one can be that has waited for it.
func (e *Elastic) Met(peer topology.Rank, m gossip.Meeting) error {
	ahead := m.Ours == 0 && m.Theirs > e.slots.Lead && !e.free
	if ahead && !e.start.Sponsored && e.members.Neighbour(peer) {
		return &LeftBehindError{fmt.Errorf("worker %d has finished %d exchanges", peer, m.Theirs)}
	}
	if !slices.Contains(e.met, peer) {
		e.met = append(e.met, peer)
	}
	e.members.Up(peer, m.Process, e.pace.now)
	if e.members.Gone(peer) { // both had agreed before this worker went on
		e.say.Control(gossip.Control{Kind: gossip.LeavePeer, Peer: peer})
	}
	e.mend()
	return e.Layer.Met(peer, m)
}

// Parted notes why there is no link. A worker that has met nobody and is told that it has no
// place any more is another process than the one that had it.
func (e *Elastic) Parted(peer topology.Rank, cause error) error {
	err := e.Layer.Parted(peer, cause)
	no, refused := errors.AsType[*gossip.RefusedError](cause)
	switch {
	case errors.Is(cause, gossip.ErrBye):
		e.members.Finished(peer)
	case !refused && !gossip.Ended(cause):
		e.members.Down(peer, e.pace.now)
		e.mend()
	case refused && no.Place && no.Remote && !e.start.Sponsored && !slices.Contains(e.met, peer):
		return &LeftBehindError{no.Err}
	case refused && no.Place && no.Remote:
		e.members.Denied(peer)
		e.left = no.Err
	}
	return err
}

// Receive takes in what a neighbour says about an edge.
func (e *Elastic) Receive(f gossip.Frame) error {
	if f.Kind == gossip.Member && f.Hop <= int(Part) {
		e.members.Heard(f.From, Verb(f.Hop), f.Round)
	}
	return e.Layer.Receive(f)
}

// Needs reports whether this worker must not leave before that one has.
func (e *Elastic) Needs(peer topology.Rank) bool { return e.members.Neighbour(peer) }

// Host gives a worker that comes back as another process a place at the next boundary. It
// reports whether there is one, and whether there will never be one again. The state at
// the boundary before Seat.Round is what that worker begins with.
func (e *Elastic) Host(peer topology.Rank, process uint64) (seat Seat, answer Answer, err error) {
	from := e.machine.Next() + 1
	seat = Seat{Round: from * e.slots.Every, From: from}
	if e.rest.done || seat.Round >= e.start.Rounds {
		return seat, Over, nil
	}
	if !e.members.Host(peer, process, from, e.pace.now) {
		return seat, NotNow, nil
	}
	edge := topology.Edge{Peer: peer, Weight: e.members.Weight()}
	if err := e.machine.Open(edge, from); err != nil {
		return seat, NotNow, err
	}
	e.say.Note(gossip.Note{Kind: gossip.Warning, Peer: peer, Exchange: from, Text: "taking back a worker"})
	e.edge(peer, from, edge.Weight)
	return seat, Welcome, nil
}

// An Answer is what a worker is told that comes back.
type Answer uint8

// Answers.
const (
	NotNow  Answer = iota // no place next to this worker now
	Welcome               // it begins with the state of this worker at its Seat
	Over                  // no exchange is left to begin with
)

// Missed notes that a process which Host has welcomed has not got its state.
func (e *Elastic) Missed(peer topology.Rank, process uint64) { e.members.Missed(peer, process) }

// mend does what the membership has decided, and reports whether that was anything.
func (e *Elastic) mend() (acted bool) {
	if e.rest.done {
		return false
	}
	acts := e.members.Step(Moment{
		Now: e.pace.now, Grace: e.pace.grace(), Next: e.machine.Next(), Waiting: e.rest.waiting, Free: e.free,
	})
	for _, act := range acts {
		e.act(act)
	}
	if e.left != nil && len(e.start.Row.In) > 1 && e.members.Alone() {
		e.fail(&AloneError{e.left})
	}
	return len(acts) > 0
}

// fail keeps an error for Ready: a bad message, which keeps nothing from being done, or what
// ends the worker.
func (e *Elastic) fail(err error) {
	_, bad := errors.AsType[*algos.MessageError](err)
	_, worse := errors.AsType[*algos.MessageError](e.err)
	switch {
	case err == nil:
	case e.err == nil || bad == worse:
		e.err = errors.Join(e.err, err)
	case worse:
		e.err = err
	}
}

func (e *Elastic) act(act Act) {
	switch act.Kind {
	case Call:
		e.say.Control(gossip.Control{Kind: gossip.CallPeer, Peer: act.Peer})
	case Tell:
		e.say.Send(gossip.Frame{
			From: e.start.Self, To: act.Peer, Kind: gossip.Member, Hop: int(act.Verb), Round: act.Exchange,
		})
	case Open:
		if err := e.machine.Open(act.Edge, act.Exchange); err != nil {
			e.fail(err)
			return
		}
		e.say.Note(gossip.Note{
			Kind: gossip.Warning, Peer: act.Peer, Exchange: act.Exchange, Text: "closing a gap of the ring",
		})
		e.edge(act.Peer, act.Exchange, act.Edge.Weight)
	case Close:
		e.fail(e.machine.Close(act.Peer, act.Exchange))
		e.edge(act.Peer, act.Exchange, 0)
	case Cut:
		if e.members.Gone(act.Peer) {
			e.say.Control(gossip.Control{Kind: gossip.LeavePeer, Peer: act.Peer})
		}
		exchange, err := e.machine.Cut(act.Peer)
		e.say.Note(gossip.Note{
			Kind: gossip.Trouble, Peer: act.Peer, Exchange: exchange, Text: "going on without a neighbour",
		})
		e.edge(act.Peer, exchange, 0)
		e.fail(err)
	}
}
