// Package elastic lets a worker continue without neighbours that are lost, and lets a ring
// take a lost worker back. Wrap a machine in a layer, and tell it of links and of time:
//
//	layer, err := elastic.New(gossip.NewLinked(m, rank, 0, gossip.Undurable), m, elastic.Start{
//		Self: rank, Row: row, Closing: graph.Closing(rank), Rounds: rounds,
//	})
//
// An Elastic is the layer; its Membership decides, edge by edge. W stays symmetric and doubly
// stochastic. The package keeps no messages for workers that come back: package replay does.
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

// The grace grows with the time of a round, so that short link failures do not tear a slow
// run apart. A slow peer keeps its link, and its neighbours wait for it.
const (
	leastGrace = time.Second
	graceOf    = 8 // average rounds
	memory     = 8 // rounds in the average
)

// A Start describes the worker when its Elastic begins.
type Start struct {
	Self    topology.Rank
	Row     topology.Row
	Closing *topology.Closing // the workers that may take the place of a neighbour; nil: none
	Rounds  int               // of the run
	// Returned says that the worker is known to have had an earlier process. The others may have continued without it.
	Returned bool
	// Sponsored says that the worker has come back. Its Row has one edge, to its sponsor,
	// which is on from the exchange Seat.From.
	Sponsored bool
	Seat      Seat
}

// A Seat is the place at which a worker that comes back begins.
type Seat struct {
	Round, From int // the round, and its exchange; ≥ 0
	// Process is that of the sponsor, which may die before the two meet; 0: unknown.
	Process uint64
}

// A LeftBehindError says that the worker began at round 0 although the others have continued without it. All neighbours
// say so, or all that it has heard from in three graces. It must ask for a place.
type LeftBehindError struct{ Err error }

func (e *LeftBehindError) Error() string { return e.Err.Error() }

// Unwrap returns the evidence: the refusal, or the progress of a neighbour.
func (e *LeftBehindError) Unwrap() error { return e.Err }

// An AloneError says that the worker has no neighbour left, and that a former neighbour has
// continued without it.
type AloneError struct{ Err error }

func (e *AloneError) Error() string { return e.Err.Error() }

// Unwrap returns the refusal of that neighbour.
func (e *AloneError) Unwrap() error { return e.Err }

// An UnmetError says that the worker has never had a link to a neighbour. It may lose neighbours and go on, but it must
// not train a whole run by itself.
type UnmetError struct{ Worker topology.Rank }

func (e *UnmetError) Error() string {
	return fmt.Sprintf("worker %d has met none of its neighbours", e.Worker)
}

// An Elastic is the layer that continues without lost neighbours. The Membership decides, and
// the machine carries the decisions out.
type Elastic struct {
	gossip.Layer
	machine   gossip.Elastic
	start     Start
	slots     gossip.Slots
	free      bool // the worker waits for no neighbour
	exchanges int  // of the run, as planned
	members   *Membership
	met       []topology.Rank // neighbours that this process has had a link to
	left      error           // the last refusal of a neighbour that has continued without this worker
	behind    behind
	pace      pace
	begun     bool
	rest      rest
	say       gossip.Output
	err       error
}

// A behind holds the words of workers that say that the others have continued without this worker. One of them may lie.
// That another neighbour is at the beginning, too, speaks against it, and is no proof: both may have started again.
type behind struct {
	said  []topology.Rank
	since time.Duration // when the first one said so
	why   error         // its evidence
}

// voices is how many workers are believed against a neighbour that is at the beginning, too: one alone may lie.
const voices = 2

// A pace measures the time of a round.
type pace struct {
	now     time.Duration
	ended   time.Duration // end of the last round
	round   int           // rounds finished
	typical time.Duration // of a round, 0 before the first has ended
}

// A rest is the state of the worker when the layer inside had nothing more to do.
type rest struct {
	waiting []topology.Rank
	done    bool
}

var _ gossip.Layer = (*Elastic)(nil)

// New returns an Elastic around inside, whose machine is machine. It fails if the machine is
// no gossip.Elastic.
func New(inside gossip.Layer, machine gossip.Machine, s Start) (*Elastic, error) {
	m, ok := machine.(gossip.Elastic)
	if !ok {
		return nil, fmt.Errorf("worker %d: a %T cannot continue without neighbours: use another policy for lost neighbours",
			s.Self, machine)
	}
	m.Whole()
	_, free := machine.(gossip.Renewer)
	slots := gossip.SlotsOf(machine)
	e := &Elastic{
		Layer: inside, machine: m, start: s, slots: slots, free: free, exchanges: slots.Of(s.Rounds, 0),
	}
	e.pace.round = s.Seat.Round
	if s.Sponsored {
		e.members = NewGuest(s.Self, s.Row.In[0].Peer, s.Closing, s.Seat)
	} else {
		e.members = NewMembership(s.Self, s.Row, s.Closing)
	}
	return e, nil
}

// Ready returns the work of the layer inside. When that layer has nothing more to do, the
// membership takes its turn.
func (e *Elastic) Ready() gossip.Ready {
	if !e.begun {
		e.begun = true
		e.begin()
	}
	r := e.Layer.Ready()
	if r.Round > e.pace.round {
		e.pace.finish(r.Round)
	}
	if r.More {
		e.rest.waiting = e.rest.waiting[:0] // it is not known yet
	} else {
		e.rest = rest{waiting: append(e.rest.waiting[:0], r.Waiting...), done: r.Done}
		r.More = e.mend()
		if e.unmet() {
			e.fail(&UnmetError{e.start.Self})
		}
	}
	r.Failed, e.err = errors.Join(r.Failed, e.err), nil
	return e.say.Add(r)
}

// unmet reports whether the worker has given up all neighbours, or has done its rounds, and never had a link to one.
func (e *Elastic) unmet() bool {
	begins := len(e.start.Row.In) > 0 && !e.start.Sponsored
	return begins && len(e.met) == 0 && (e.rest.done || e.members.Alone())
}

// begin notes the time at which the worker begins, and puts its first edges on record.
func (e *Elastic) begin() {
	e.pace.ended = e.pace.now
	e.members.Begin(e.pace.now)
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

// finish notes that all rounds before round k are over.
func (p *pace) finish(k int) {
	took := p.now - p.ended
	if p.typical == 0 {
		p.typical = took
	}
	p.typical, p.ended, p.round = p.typical+(took-p.typical)/memory, p.now, k
}

func (p *pace) grace() time.Duration { return max(leastGrace, graceOf*p.typical) }

// Tick notes the time since the run began.
func (e *Elastic) Tick(now time.Duration) error {
	e.pace.now = now
	return e.Layer.Tick(now)
}

// End notes the new number of rounds.
func (e *Elastic) End(rounds int) error {
	e.start.Rounds = rounds
	return e.Layer.End(rounds)
}

// Met notes a new link. A neighbour of the first graph may be further ahead than one that waited for this worker can
// be. It has then continued without this worker, or lies: see LeftBehindError.
func (e *Elastic) Met(peer topology.Rank, m gossip.Meeting) error {
	ahead := m.Ours == 0 && m.Theirs > e.slots.Lead && !e.free && !e.start.Sponsored
	switch {
	case ahead && (e.members.Neighbour(peer) || len(e.behind.said) > 0):
		why := fmt.Errorf("worker %d has finished %d exchanges", peer, m.Theirs)
		if err := e.hears(peer, why); err != nil {
			return err
		}
		if len(e.met) > 0 {
			return &algos.MessageError{From: peer, Err: fmt.Errorf("%w, and cannot have without this worker", why)}
		}
	case !slices.Contains(e.met, peer):
		e.met = append(e.met, peer)
		e.doubt()
	}
	e.members.Up(peer, m.Process)
	if e.members.Gone(peer) { // the two agreed on the link before this worker gave up
		e.say.Control(gossip.Control{Kind: gossip.LeavePeer, Peer: peer})
	}
	e.mend()
	return e.Layer.Met(peer, m)
}

// Parted notes why there is no link. A neighbour may refuse this worker because its place is
// gone. If this process has never met that neighbour, an earlier process had the place.
func (e *Elastic) Parted(peer topology.Rank, cause error) error {
	err := e.Layer.Parted(peer, cause)
	no, refused := errors.AsType[*gossip.RefusedError](cause)
	switch {
	case errors.Is(cause, gossip.ErrBye):
		e.members.Finished(peer)
	case !refused && !gossip.Ended(cause):
		e.members.Down(peer, e.pace.now)
		e.mend()
	case refused && no.Place && no.Remote:
		if !e.start.Sponsored && e.pace.round == 0 && !slices.Contains(e.met, peer) {
			err = errors.Join(err, e.hears(peer, no.Err))
		}
		if e.start.Sponsored || len(e.met) > 0 {
			e.members.Denied(peer)
			e.left = no.Err
		}
	}
	return err
}

// hears notes that a worker which this process has not met says that the others have continued without it. A worker
// that has had an earlier process believes any of them. A new one believes all its neighbours, or as many as voices.
func (e *Elastic) hears(peer topology.Rank, why error) error {
	b := &e.behind
	if len(b.said) == 0 {
		b.since, b.why = e.pace.now, why
	}
	if !slices.Contains(b.said, peer) {
		b.said = append(b.said, peer)
	}
	if e.start.Returned || len(b.said) >= voices || len(e.met) == 0 && len(b.said) == len(e.start.Row.In) {
		return &LeftBehindError{b.why}
	}
	return nil
}

// doubt notes that this process has met a neighbour, which waited for it. Those that say otherwise count as lost.
func (e *Elastic) doubt() {
	for _, peer := range e.behind.said {
		e.members.Denied(peer)
		e.left = e.behind.why
		e.say.Control(gossip.Control{Kind: gossip.DropLink, Peer: peer, Why: e.behind.why})
	}
}

// believe ends a worker that has heard only from neighbours that have continued without it.
func (e *Elastic) believe() {
	if b := &e.behind; len(e.met) == 0 && len(b.said) > 0 && e.pace.now-b.since >= held*e.pace.grace() {
		e.fail(&LeftBehindError{b.why})
	}
}

// Receive takes in the words of other workers about edges.
func (e *Elastic) Receive(f gossip.Frame) error {
	if f.Kind == gossip.Member {
		if err := e.members.Heard(f.From, Verb(f.Hop), f.Round); err != nil {
			return fmt.Errorf("%w: worker %d at round %d: word %d about exchange %d from worker %d",
				err, e.start.Self, e.pace.round, f.Hop, f.Round, f.From)
		}
	}
	return e.Layer.Receive(f)
}

// Needs reports whether this worker must stay until peer has finished.
func (e *Elastic) Needs(peer topology.Rank) bool { return e.members.Neighbour(peer) }

// Host gives a worker that comes back as another process a place at the next boundary, if it
// has one. That worker begins with the state of this one at the boundary before Seat.Round.
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

// An Answer is the reply to a worker that asks for a place.
type Answer uint8

// Answers to a worker that asks for a place.
const (
	NotNow  Answer = iota // there is no place next to this worker now
	Welcome               // it begins with the state of this worker at its Seat
	Over                  // no exchange is left to begin with
)

// Missed notes that a process which Host has welcomed did not receive its state.
func (e *Elastic) Missed(peer topology.Rank, process uint64) { e.members.Missed(peer, process) }

// mend carries out the decisions of the membership, and reports whether there were any.
func (e *Elastic) mend() (acted bool) {
	if e.rest.done {
		return false
	}
	acts := e.members.Step(Moment{
		Now: e.pace.now, Grace: e.pace.grace(), Next: e.machine.Next(), Waiting: e.rest.waiting, Free: e.free,
		Exchanges: e.exchanges,
	})
	for _, act := range acts {
		e.act(act)
	}
	e.believe()
	if e.left != nil && len(e.start.Row.In) > 1 && e.members.Alone() {
		e.fail(&AloneError{e.left})
	}
	return len(acts) > 0
}

// fail keeps an error for the next Ready. A fatal error replaces bad messages, after which the
// worker can continue.
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
		if err == nil && !e.free {
			e.members.Freed(act.Peer, exchange+1)
		}
		e.say.Note(gossip.Note{
			Kind: gossip.Trouble, Peer: act.Peer, Exchange: exchange, Text: "going on without a neighbour",
		})
		e.edge(act.Peer, exchange, 0)
		e.fail(err)
	}
}
