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

// State shows the last mixing, the links, and the offers and answers of all neighbours.
func (o *openExchanges) State(v *state.Visit) {
	v.Part("mixed", (*observed)(&o.mixed))
	most := o.room()
	o.offer.payload = memory(v, "offer", o.offer.payload, most)
	o.scratch = memory(v, "scratch", o.scratch, most)
	for i := range o.peers {
		v.Part(strconv.Itoa(int(o.peers[i].rank)), peerExchanges{&o.peers[i], len(o.alg.X), most})
	}
}

// room bounds the memory of a payload.
func (o *openExchanges) room() int { return 16 * (len(o.alg.X) + len(o.steps.steps) + 64) }

// memory visits the capacity of a payload that is not in use. ExtraMemory counts it.
func memory(v *state.Visit, name string, payload []byte, most int) []byte {
	n := cap(payload)
	state.Int(v, name+".memory", &n, 0, most)
	if v.Loading() {
		return make([]byte, 0, n)
	}
	return payload
}

// peerExchanges are the exchanges with a neighbour.
type peerExchanges struct {
	*pairPeer
	dim, most int
}

// State shows the link, the numbers of the offers, and the messages that are not used or may be sent again.
func (p peerExchanges) State(v *state.Visit) {
	state.Int(v, "state", &p.state, reachable, gone)
	v.Bool("finished", &p.finished)
	v.Bool("queried", &p.queried)
	state.Int(v, "next", &p.next, 0, math.MaxInt)
	state.Int(v, "seen", &p.seen, -2, math.MaxInt)
	state.Int(v, "reply", &p.reply.state, none, mended)
	p.reply.payload = memory(v, "payload", p.reply.payload, p.most)
	v.Bytes("payload", &p.reply.payload)
	v.Part("held", &p.held)
	doubt := p.doubt != nil
	v.Bool("doubt", &doubt)
	if v.Loading() && doubt {
		p.doubt = &offer{at: make([]float32, p.dim)}
	}
	if doubt && p.doubt != nil {
		v.Part("offer", p.doubt)
	}
	if c, ok := p.codec.(Exchanger); ok {
		v.Part("codec", c.Exchanges())
	}
}

// State shows an offer in doubt.
func (o *offer) State(v *state.Visit) {
	state.Int(v, "number", &o.number, 0, math.MaxInt)
	v.Floats("at", o.at)
	v.Bytes("payload", &o.payload)
	v.Bool("mended", &o.mended)
	v.Part("reply", &o.reply)
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
