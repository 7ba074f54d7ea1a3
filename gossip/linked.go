package gossip

import (
	"errors"
	"slices"
	"time"

	"gossiptrainer/topology"
)

// Linked is the innermost layer: a machine, and the news for its neighbours. It tells the neighbours of its
// checkpoints, and the driver its place, for the next handshake.
type Linked struct {
	Machine
	renewer  Renewer // nil unless the machine is one
	self     topology.Rank
	slots    Slots
	numbered bool // all workers count exchanges alike
	place    int
	durable  int
	up       []topology.Rank // neighbours that have a link
	tape     CallLog         // nil: the calls are not noted
	say      Output
}

var (
	_ Layer  = (*Linked)(nil)
	_ Logged = (*Linked)(nil)
)

// NewLinked returns the layer around m, the machine of worker self. place is its place, durable that of its oldest
// checkpoint: Undurable without one.
func NewLinked(m Machine, self topology.Rank, place, durable int) *Linked {
	l := &Linked{Machine: m, self: self, slots: SlotsOf(m), place: place, durable: durable}
	l.renewer, _ = m.(Renewer)
	l.numbered = l.renewer == nil
	return l
}

// Ready returns the work of the machine and of this layer.
func (l *Linked) Ready() Ready {
	r := l.Machine.Ready()
	l.note(Call{Kind: ReadyCall}) // afterwards: a boundary in the call comes before
	if place := l.slots.Of(r.Round, r.Hop); l.numbered && place != l.place {
		l.place = place
		l.introduce()
	}
	return l.say.Add(r)
}

func (l *Linked) introduce() {
	l.say.Control(Control{Kind: Introduce, Place: l.place, Durable: l.durable})
}

// Receive passes on the frames for the machine. Layers around this one take the others.
func (l *Linked) Receive(f Frame) error {
	if f.Kind >= Place {
		l.say.Spend(f.Payload)
		return nil
	}
	l.note(Call{Kind: ReceiveCall, Frame: f})
	return l.Machine.Receive(f)
}

// Gradient passes the gradient on.
func (l *Linked) Gradient(g []float32, loss float32, now time.Duration) error {
	l.note(Call{Kind: GradientCall})
	return l.Machine.Gradient(g, loss, now)
}

// Met tells a new neighbour of a checkpoint that became safe after the handshake.
func (l *Linked) Met(peer topology.Rank, m Meeting) error {
	if !slices.Contains(l.up, peer) {
		l.up = append(l.up, peer)
	}
	if l.durable > m.Kept {
		l.tell(peer)
	}
	if l.renewer != nil && m.Renewed {
		l.note(Call{Kind: RenewCall, Peer: peer})
		l.renewer.Renew(peer)
	}
	l.link(peer, true)
	return nil
}

// Parted tells the machine of a lost link. After a Bye no frame is missing, and a refused link never existed.
func (l *Linked) Parted(peer topology.Rank, cause error) error {
	l.up = slices.DeleteFunc(l.up, func(r topology.Rank) bool { return r == peer })
	if m, ok := l.Machine.(Elastic); ok && errors.Is(cause, ErrGone) {
		l.note(Call{Kind: CutCall, Peer: peer})
		_, err := m.Cut(peer)
		return err
	}
	if !Ended(cause) {
		l.link(peer, false)
	}
	return nil
}

// link tells the machine of the link to a neighbour.
func (l *Linked) link(peer topology.Rank, up bool) {
	l.note(Call{Kind: LinkCall, Peer: peer, Up: up})
	l.Machine.Link(peer, up)
}

// Tick does nothing: a machine has no time.
func (l *Linked) Tick(time.Duration) error { return nil }

// Saved tells the neighbours.
func (l *Linked) Saved(round int) error {
	l.durable = l.slots.Of(round, 0)
	l.introduce()
	for _, peer := range l.up {
		l.tell(peer)
	}
	return nil
}

// tell sends a neighbour the place of the oldest checkpoint.
func (l *Linked) tell(peer topology.Rank) {
	l.say.Send(l.slots.At(Frame{From: l.self, To: peer, Kind: Durable}, l.durable))
}

// Log passes the call on.
func (l *Linked) Log() {
	if m, ok := l.Machine.(Logged); ok {
		m.Log()
	}
}
