package gossip

import (
	"fmt"
	"math"
	"time"

	"gossiptrainer/gossip/state"
	"gossiptrainer/topology"
)

// A simulation that goes on gives a machine the calls again that the machine had after a boundary. Layers call it, too,
// so the innermost layer notes the calls.

// A CallKind is a method of a machine.
type CallKind uint8

// The methods that change a machine, apart from those that end a run.
const (
	ReceiveCall CallKind = iota
	GradientCall
	ReadyCall
	LinkCall
	RenewCall
	CutCall
)

// A Call is a call of a machine.
type Call struct {
	Kind  CallKind
	Frame Frame         // of ReceiveCall
	Peer  topology.Rank // of LinkCall, RenewCall and CutCall
	Up    bool          // of LinkCall
}

// A CallLog notes the calls of a machine. The payload of a frame is valid during the call.
type CallLog func(Call)

// Taped makes the layer tell t of the calls of its machine.
func (l *Linked) Taped(t CallLog) { l.tape = t }

func (l *Linked) note(c Call) {
	if l.tape != nil {
		l.tape(c)
	}
}

// Repeat makes a call of m once more, that of a gradient with g, its loss and its time. It returns the requests of
// ReadyCall.
func (c *Call) Repeat(m Machine, g []float32, loss float32, now time.Duration) (r Ready, err error) {
	switch c.Kind {
	case ReceiveCall:
		err = m.Receive(c.Frame)
	case GradientCall:
		err = m.Gradient(g, loss, now)
	case ReadyCall:
		return m.Ready(), nil
	case LinkCall:
		m.Link(c.Peer, c.Up)
	case RenewCall:
		if renewer, ok := m.(Renewer); ok {
			renewer.Renew(c.Peer)
		}
	case CutCall:
		if elastic, ok := m.(Elastic); ok {
			_, err = elastic.Cut(c.Peer)
		}
	default:
		err = fmt.Errorf("gossip: a call of kind %d", c.Kind)
	}
	return r, err
}

// At rest a layer has no request for its driver, and its state does not include its output.

// Rests reports whether a layer, and all inside it, have said all.
func Rests(layer any) bool {
	l, ok := layer.(interface{ Rests() bool })
	return !ok || l.Rests()
}

// Rests reports whether all is said.
func (l *Linked) Rests() bool { return l.say.Empty() }

// State shows the place, the oldest checkpoint and the links. It leaves out the machine.
func (l *Linked) State(v *state.Visit) {
	state.Int(v, "place", &l.place, 0, math.MaxInt)
	state.Int(v, "durable", &l.durable, Undurable, math.MaxInt)
	state.Items(v, "up", &l.up, func(name string, r *topology.Rank) { state.Int(v, name, r, 0, math.MaxInt) })
}

// State shows a frame with its payload.
func (f *Frame) State(v *state.Visit) {
	state.Int(v, "from", &f.From, 0, math.MaxInt)
	state.Int(v, "to", &f.To, 0, math.MaxInt)
	state.Int(v, "kind", &f.Kind, 0, math.MaxUint8)
	state.Int(v, "round", &f.Round, 0, math.MaxInt)
	state.Int(v, "hop", &f.Hop, 0, math.MaxInt)
	state.Int(v, "piece", &f.Piece, 0, math.MaxInt)
	state.Int(v, "note", &f.Note, 0, math.MaxUint64)
	v.Bytes("payload", &f.Payload)
}
