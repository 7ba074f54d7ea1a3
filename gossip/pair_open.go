package gossip

import (
	"math"
	"strconv"

	"gossiptrainer/gossip/state"
)

// An Exchanger has exchanges that are open at the boundary of its steps. Its State leaves them out, because a worker
// that comes back ends them: see Renewer. A simulation that goes on has all workers again, and so their exchanges.
type Exchanger interface {
	// Exchanges returns the open exchanges, and all that their messages need. ResumePair takes them by this name.
	Exchanges() state.Keeper
}

// Exchanges is the name of the state of open exchanges in a snapshot.
const Exchanges = "exchanges"

// Exchanges returns the open exchanges of the worker at the boundary of a step.
func (w *PairWorker) Exchanges() state.Keeper { return (*openExchanges)(w) }

type openExchanges PairWorker

// State shows the last mixing, the neighbour that is served, the links, and the exchanges with all neighbours.
func (o *openExchanges) State(v *state.Visit) {
	v.Part("mixed", (*observed)(&o.mixed))
	serving, spare := rankOf(o.serving), o.spare != nil
	state.Int(v, "serving", &serving, -1, math.MaxInt)
	v.Bool("served", &o.turn.served)
	state.Int(v, "arrivals", &o.turn.arrivals, 0, math.MaxInt)
	v.Bool("spare", &spare)
	if v.Loading() {
		o.serving = (*PairWorker)(o).peer(serving)
	}
	if v.Loading() && spare {
		o.spare = make([]float32, len(o.alg.X))
	}
	for i := range o.peers {
		v.Part(strconv.Itoa(int(o.peers[i].rank)), peerExchanges{&o.peers[i], len(o.alg.X), o.room()})
	}
}

// room bounds the memory of a payload.
func (o *openExchanges) room() int { return 16 * (len(o.alg.X) + len(o.steps.steps) + 64) }

// peerExchanges are the exchanges with a neighbour.
type peerExchanges struct {
	*pairPeer
	dim, most int
}

// State shows the link, the questions, and the models that may be sent again or are not used.
func (p peerExchanges) State(v *state.Visit) {
	state.Int(v, "state", &p.state, reachable, gone)
	v.Bool("finished", &p.finished)
	v.Bool("queried.theirs", &p.queried[0])
	v.Bool("queried.mine", &p.queried[1])
	state.Int(v, "next", &p.next, 0, math.MaxInt)
	v.Bool("asked", &p.asked)
	state.Int(v, "seen", &p.seen, -2, math.MaxInt)
	v.Bool("held", &p.held)
	state.Int(v, "arrival", &p.arrival, 0, math.MaxInt)
	state.Int(v, "note", &p.note, 0, math.MaxUint32)
	v.Part("mine", &keptTrade{&p.mine, p.dim, p.most})
	v.Part("theirs", &keptTrade{&p.theirs, p.dim, p.most})
	if c, ok := p.codec.(Exchanger); ok {
		v.Part("codec", c.Exchanges())
	}
}

// A keptTrade is the state of an exchange.
type keptTrade struct {
	*trade
	dim, most int
}

// State shows the models of an exchange.
func (t *keptTrade) State(v *state.Visit) {
	state.Int(v, "state", &t.state, none, used)
	if t.state == none {
		return
	}
	state.Int(v, "number", &t.number, 0, math.MaxInt)
	v.Bool("mended", &t.mended)
	t.payload = memory(v, "payload", t.payload, t.most)
	v.Bytes("payload", &t.payload)
	if t.state != lacking {
		return
	}
	if v.Loading() {
		t.at = make([]float32, t.dim)
	}
	v.Floats("at", t.at)
	v.Part("received", &t.received)
}

// memory visits the capacity of a payload. ExtraMemory counts it.
func memory(v *state.Visit, name string, payload []byte, most int) []byte {
	n := cap(payload)
	state.Int(v, name+".memory", &n, 0, most)
	if v.Loading() {
		return make([]byte, 0, n)
	}
	return payload
}

// State shows a message that is not used yet.
func (m *letter) State(v *state.Visit) {
	state.Int(v, "state", &m.state, absent, repaired)
	if m.state == absent {
		return
	}
	v.Part("frame", &m.Frame)
	if m.state == repaired {
		v.Bytes("repair", &m.repair)
		if m.repair == nil {
			m.repair = []byte{}
		}
	}
}
