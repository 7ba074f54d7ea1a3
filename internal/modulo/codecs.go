package modulo

import (
	"gossiptrainer/internal/bits"
	"gossiptrainer/internal/rng"
	"gossiptrainer/moniqua"
	"gossiptrainer/quant"
	"gossiptrainer/topology"
)

// A Place says for whom a codec is.
type Place struct {
	Rank  topology.Rank
	Rows  topology.Sequence // neighbours of the worker; nil where only sizes matter
	Bits  func(k int) int   // that a controller has chosen; nil where only sizes matter
	Audit *moniqua.Audit    // nil: messages are not compared
	In    *Chapter          // nil: the members of the run stay
}

// Codec makes the codec of a lane of a worker.
func (m *Maker) Codec(lane int, p Place) (*moniqua.Codec, error) {
	c, err := m.unverified(lane, p)
	if err != nil {
		return nil, err
	}
	a := m.Algorithm
	c.Verify, c.Audit, c.Exact = a.Theta.Verify, p.Audit, m.Exact
	if p.Rows != nil {
		c.Behind(p.Rows.Behind())
	}
	if bits.Controlled(a.Controller) {
		c.Levels, c.Bits = 1<<a.Controller.MaxBits, p.Bits
	}
	return c, nil
}

// unverified makes a codec that does not verify.
func (m *Maker) unverified(lane int, p Place) (*moniqua.Codec, error) {
	levels, seed := Levels(m.Algorithm), m.laneSeed(lane)
	if m.control == nil {
		theta := m.Theta
		if p.In != nil && p.In.Theta != nil {
			theta = p.In.Theta
		}
		return moniqua.New(levels, m.rounding(), theta[lane], seed, p.Rank)
	}
	control, err := m.control(m.Method.Lanes()[lane], lane, p.In)
	if err != nil {
		return nil, err
	}
	return moniqua.NewControlled(levels, m.rounding(), control, seed, p.Rank)
}

// Link makes the codec of the link to a peer. Both ends share the noise of its grid.
func (m *Maker) Link(peer topology.Rank, control *moniqua.PairControl, p Place) (*moniqua.PairCodec, error) {
	return moniqua.NewPair(moniqua.Codec{
		Levels: Levels(m.Algorithm), Rounding: m.rounding(), Seed: rng.Edge(m.Seed, int(p.Rank), int(peer)),
		Rank: p.Rank, Verify: m.Algorithm.Theta.Verify, Audit: p.Audit, Exact: m.Exact,
	}, peer, control)
}

// PairControl returns the source of the bound of a worker's exchanges in pairs.
func (m *Maker) PairControl() (*moniqua.PairControl, error) {
	rule, ok := controls[m.Algorithm.Theta.Rule]
	if !ok {
		return moniqua.NewPairFixed(m.Algorithm.Theta.Value)
	}
	plan, err := m.controlPlan()
	if err != nil {
		return nil, err
	}
	return moniqua.NewPairControl(rule.control, plan)
}

// anyLink returns the codec of a link that need not exist, because all links are alike.
func (m *Maker) anyLink() (*moniqua.PairCodec, error) {
	control, err := m.PairControl()
	if err != nil {
		return nil, err
	}
	return m.Link(1, control, Place{})
}

// laneStream separates the noise of a lane from that of the others: lane h ≥ 1 uses the stream laneStream − h in place
// of the seed.
const laneStream = 1<<31 - 16

// laneSeed returns the seed of all draws of a lane.
func (m *Maker) laneSeed(lane int) uint64 {
	if lane == 0 {
		return m.Seed
	}
	return rng.Stream(m.Seed, laneStream-lane)
}

const floatBytes = 4

// Usual returns the bytes of a model, without repairs and hashes.
func (m *Maker) Usual() int {
	packing, err := quant.NewPacking(Levels(m.Algorithm))
	if err != nil {
		panic("internal error: modulo: " + err.Error()) // Choose has checked the levels
	}
	return packing.Len(m.Dim-m.Exact) + floatBytes*m.Exact
}

// Largest returns the bytes of the largest message: codecs that verify may have to send repairs, or start in full
// precision.
func (m *Maker) Largest() int {
	var c interface{ MaxPayload(d int) int }
	var err error
	if m.Method.Asynchronous() {
		c, err = m.anyLink()
	} else {
		c, err = m.Codec(0, Place{})
	}
	if err != nil {
		panic("internal error: modulo: " + err.Error()) // Choose has made one
	}
	return c.MaxPayload(m.Dim)
}
