// Package peer puts a machine and all layers of a run together, so that a worker can lose its
// neighbours. Any driver with links and a clock does this:
//
//	p, err := peer.New(machine, start)
//	for !p.Over() {
//		for more := true; more; {
//			r := p.Ready()   // obey r.Control, send r.Send, take r.Spent back, show r.Notes
//			more = r.More    // take the gradient that r.Compute asks for
//		}
//		...                      // wait for an event, or for Pulse
//		p.Tick(now)
//		p.Receive, p.Met, p.Parted, p.Gradient
//	}
//
// Settle says that the state after the last round is safe: then the worker says bye to its neighbours.
// The package opens no links and writes no checkpoints.
package peer

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"gossiptrainer/gossip"
	"gossiptrainer/gossip/elastic"
	"gossiptrainer/gossip/follow"
	"gossiptrainer/gossip/judge"
	"gossiptrainer/gossip/replay"
	"gossiptrainer/topology"
)

const (
	patience = 10 * time.Second // without progress before a note names the missing neighbours, and between two such notes
	grace    = 10 * time.Second // that a neighbour may be gone under Fail
	farewell = 5 * time.Second  // that a neighbour may be gone after the last round
)

// A Policy says what a worker does when it loses a neighbour.
type Policy uint8

// Policies.
const (
	Wait     Policy = iota // as long as it takes
	Fail                   // end with a *LostError after 10 s
	Reweight               // go on without the neighbour
)

// A Start has the settings of a Peer.
type Start struct {
	Self topology.Rank
	Rows topology.Sequence
	Lost Policy
	// Asynchronous says that workers may be any number of rounds apart.
	Asynchronous bool
	// Place is the number of exchanges that the worker has finished. Durable is the place of its oldest checkpoint;
	// gossip.Undurable without one.
	Place, Durable int
	Replay         *replay.Start  // nil: messages are not kept, so no worker can come back
	Elastic        *elastic.Start // under Reweight
	Judge          judge.Rules
	// CallLog notes the calls of the machine; nil: they are not noted.
	CallLog gossip.CallLog
	// Links is how many links the worker keeps open where its neighbours change; 0: all.
	Links int
	// Exchanges is the number of exchanges of the run, as far as it is known; 0: it is not.
	Exchanges int
	// Through reports whether a worker is known to have ended well without a bye. Nil: nothing is known.
	Through func(topology.Rank) bool
}

// A LostError says that a neighbour was gone for too long.
type LostError struct {
	Peer topology.Rank
}

func (e *LostError) Error() string { return fmt.Sprintf("lost worker %d", e.Peer) }

// A Peer is the outermost layer: it watches the links, and decides when the worker may leave.
type Peer struct {
	gossip.Layer
	judge *judge.Judge
	start Start
	host  host
	needs func(topology.Rank) bool
	over  func() bool
	peers []neighbour // in increasing rank, but for those that came later
	links following
	clock clock
	work  phase
	wait  []topology.Rank
	say   gossip.Output
	err   error
}

// A clock holds the times of the latest events.
type clock struct {
	now      time.Duration
	looked   time.Duration // last check of the neighbours
	progress time.Duration // last progress
	noted    time.Duration // last note about missing neighbours
}

// A phase is the activity of the worker.
//
//	state      event                            next
//	training   a gradient is asked for          computing
//	computing  it is there                      training
//	training   the last round is over           done
//	done       its state is safe                settled
type phase uint8

const (
	training phase = iota
	computing
	done
	settled // neighbours get a bye
)

// A host gives places to workers that come back.
type host interface {
	Host(peer topology.Rank, process uint64) (elastic.Seat, elastic.Answer, error)
	Missed(peer topology.Rank, process uint64)
}

// noHost is a host without places.
type noHost struct{}

func (noHost) Host(topology.Rank, uint64) (elastic.Seat, elastic.Answer, error) {
	return elastic.Seat{}, elastic.Over, nil
}

func (noHost) Missed(topology.Rank, uint64) {}

var _ gossip.Layer = (*Peer)(nil)

// New returns the machine of a worker with the layers that s asks for. It fails under Reweight if the machine cannot go
// on without neighbours.
func New(m gossip.Machine, s Start) (*Peer, error) {
	if s.Through == nil {
		s.Through = func(topology.Rank) bool { return false }
	}
	linked := gossip.NewLinked(m, s.Self, s.Place, s.Durable)
	linked.Taped(s.CallLog)
	p := &Peer{
		Layer: linked, start: s, host: noHost{},
		needs: func(topology.Rank) bool { return true }, over: func() bool { return false },
	}
	if s.Replay != nil {
		r := replay.New(p.Layer, *s.Replay)
		p.Layer, p.over = r, r.Over
	}
	if s.Lost == Reweight {
		e, err := elastic.New(p.Layer, m, *s.Elastic)
		if err != nil {
			return nil, err
		}
		p.Layer, p.host, p.needs = e, e, e.Needs
	}
	s.Judge.Pieces = gossip.SlotsOf(m).Pieces
	p.judge = judge.New(p.Layer, s.Judge)
	p.Layer = p.judge
	p.links = following{Links: follow.New(s.Rows, s.Links, s.Exchanges), every: gossip.SlotsOf(m).Every}
	for _, rank := range s.Rows.Neighbours() {
		p.peers = append(p.peers, neighbour{rank: rank})
	}
	return p, nil
}

// Pulse returns how often the driver must call Tick if nothing else happens.
func (p *Peer) Pulse() time.Duration {
	if p.start.Lost == Reweight {
		return 100 * time.Millisecond
	}
	return time.Second
}

// Ready returns the requests of the layers, and says bye at the end.
func (p *Peer) Ready() gossip.Ready {
	p.idle()
	r := p.Layer.Ready()
	p.wait = append(p.wait[:0], r.Waiting...)
	if r.Compute {
		p.work = computing
	}
	if r.Done && p.work < done {
		p.work = done
	}
	if !r.More {
		p.follow(&r)
		p.part(r.Owed)
		if p.clock.now >= p.clock.looked+p.Pulse() {
			p.clock.looked = p.clock.now
			p.err, r.More = p.look(), true
		}
	}
	r.Failed, p.err = errors.Join(r.Failed, p.err), nil
	return p.say.Add(r)
}

// Tick notes the time.
func (p *Peer) Tick(now time.Duration) error {
	p.clock.now = now
	return p.Layer.Tick(now)
}

// Gradient notes progress.
func (p *Peer) Gradient(g []float32, loss float32, now time.Duration) error {
	p.work, p.clock.progress = training, p.clock.now
	return p.Layer.Gradient(g, loss, now)
}

// Receive notes progress.
func (p *Peer) Receive(f gossip.Frame) error {
	used := p.judge.Used()
	err := p.Layer.Receive(f)
	if p.judge.Used() > used {
		p.clock.progress = p.clock.now
	}
	return err
}

// Met notes a link.
func (p *Peer) Met(peer topology.Rank, m gossip.Meeting) error {
	if err := p.Layer.Met(peer, m); err != nil {
		return err
	}
	p.find(peer).is(up, p.clock.now)
	return nil
}

// Parted notes that there is no link, and the cause.
func (p *Peer) Parted(peer topology.Rank, cause error) error {
	n := p.find(peer)
	switch {
	case errors.Is(cause, gossip.ErrBye):
		n.is(left, p.clock.now)
	case errors.Is(cause, gossip.ErrRest):
		n.is(resting, p.clock.now)
		if p.links.Links != nil && p.links.Wants(peer) {
			p.seek(n)
		}
	case gossip.Ended(cause): // no link was lost
	case n.state != unmet:
		n.is(down, p.clock.now)
	}
	return p.Layer.Parted(peer, cause)
}

// Settle says that the state after the last round is safe, or never will be. Neighbours need not keep the messages that
// lead to it.
func (p *Peer) Settle() {
	if p.work == done {
		p.work = settled
	}
}

// Settled reports whether Settle was called.
func (p *Peer) Settled() bool { return p.work == settled }

// Done reports whether all rounds are over.
func (p *Peer) Done() bool { return p.work >= done }

// Over reports whether all rounds are over and no neighbour needs this worker.
func (p *Peer) Over() bool {
	return p.Done() && !slices.ContainsFunc(p.peers, p.owes)
}

// Unneeded reports whether the messages that the worker has kept can be removed: it is Over, and no neighbour can come
// back to them.
func (p *Peer) Unneeded() bool { return p.over() }

// Host gives a place to a worker that comes back, see elastic.Elastic. Without package elastic there is no place.
func (p *Peer) Host(peer topology.Rank, process uint64) (elastic.Seat, elastic.Answer, error) {
	return p.host.Host(peer, process)
}

// Missed notes that a process did not receive the state that Host has promised it.
func (p *Peer) Missed(peer topology.Rank, process uint64) { p.host.Missed(peer, process) }
