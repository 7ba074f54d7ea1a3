package moniqua

import (
	"fmt"
	"math"

	"gossiptrainer/algos"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/kernel"
	"gossiptrainer/internal/vec"
	"gossiptrainer/topology"
)

// Moniqua on AD-PSGD (Lu and De Sa, algorithm 3): models meet in pairs, at times that no other worker knows. So the
// workers need not agree on θ. The worker that offers an exchange chooses θ and sends it with the offer. The other end
// recovers the offer and encodes its answer with the same θ, so that two values of θ never meet in one exchange.

// A PairCodec is the codec of one worker on one link of AD-PSGD. Each end has at most one open exchange for which it
// has asked. Each of the two exchanges has a codec of its own, which keeps the quotients of that exchange until the
// model is encoded for the next one.
type PairCodec struct {
	peer     topology.Rank
	control  *PairControl
	proposed terms   // of the last question of this worker
	offered  pairing // asked for by this worker
	answered pairing // asked for by peer
}

// A pairing is the last exchange for which one end of a link has asked.
type pairing struct {
	Codec
	terms
}

// The terms of an exchange come with its question.
type terms struct {
	number int     // −1 before the first
	theta  float64 // 0 in full precision
	unit   float64 // θ is proportional to it
}

// NewPair returns the codec of a worker on its link to peer. It is a copy of codec, which must be unused and needs no
// Theta. θ comes from the control of the worker, which all its links share. Seed must be the same at both ends of the
// link and on no other link. NewPair fails if the levels do not suit the rounding mode.
func NewPair(codec Codec, peer topology.Rank, control *PairControl) (*PairCodec, error) {
	if err := codec.Rounding.Check(codec.Levels); err != nil {
		return nil, err
	}
	c := &PairCodec{peer: peer, control: control, proposed: terms{number: -1}}
	for _, p := range []*pairing{&c.offered, &c.answered} {
		p.Codec, p.number = codec, -1
		p.Theta = func(int) float64 { return p.theta }
	}
	return c, nil
}

// Propose returns the note of the question for exchange number: the bits of θ as a float32, 0 for full precision. The
// mean number of steps per worker is clock.
func (c *PairCodec) Propose(number, clock int) uint32 {
	c.proposed = terms{number: number, unit: c.control.unit(clock), theta: c.control.choose(clock)}
	return math.Float32bits(float32(c.proposed.theta))
}

// Heed takes over the note of peer's question for exchange number, or returns the reason why the note holds no θ.
func (c *PairCodec) Heed(number int, note uint32) error {
	theta := float64(math.Float32frombits(note))
	if err := checkPairTheta(theta); err != nil && !(note == 0 && c.control.measures()) {
		return err
	}
	if own := c.control.theta; c.control.control == nil && theta != own {
		return fmt.Errorf("moniqua: theta %v of an exchange: all exchanges of this run have %v", theta, own)
	}
	c.answered.number, c.answered.theta = number, theta
	return nil
}

// Ended reports the result of the last offered exchange to the control of θ. It passes on the observations, and how
// many of its two messages needed a repair.
func (c *PairCodec) Ended(_ int, saw algos.Mixed, repaired int) {
	c.control.ended(c.offered.unit, saw, repaired)
}

// Control returns the source of θ.
func (c *PairCodec) Control() *PairControl { return c.control }

// exchange returns the codec of exchange number.
func (c *PairCodec) exchange(number int) (*pairing, error) {
	for _, p := range []*pairing{&c.offered, &c.answered} {
		if p.number == number {
			return p, nil
		}
	}
	return nil, fmt.Errorf("moniqua: internal error: exchange %d with worker %d: no theta", number, c.peer)
}

// Encode appends the model, encoded for exchange number, to dst, see Codec.Encode. It returns an *algos.MessageError if
// a finite model has no indices, because peer has chosen an absurd θ.
func (c *PairCodec) Encode(dst []byte, number int, x []float32) ([]byte, error) {
	if number == c.proposed.number {
		c.offered.terms = c.proposed
	}
	p, err := c.exchange(number)
	if err != nil {
		return dst, err
	}
	if p.theta == 0 {
		return algos.Full{}.Encode(dst, number, x)
	}
	if p == &c.offered {
		c.control.reach(math.Float32frombits(kernel.Best().Magnitude(x[:p.before(len(x))])), finestStep(&p.Codec, number))
	}
	p.verification.forget()
	dst, err = p.Codec.Encode(dst, number, x)
	if err != nil && p == &c.answered && vec.Finite(x) {
		err = &algos.MessageError{From: c.peer, Err: err}
	}
	return dst, err
}

// Mix is Codec.Mix in exchange number. Values of a message are within about θ of x. So the limit of a message also
// detects an absurd θ of the other end.
func (c *PairCodec) Mix(acc []float32, number int, x []float32, mine []byte, in []algos.Message) (algos.Mixed, error) {
	p, err := c.exchange(number)
	if err != nil {
		return algos.Mixed{}, err
	}
	if p.theta == 0 {
		return p.mixExact(number, gathered{acc: acc, x: x, mine: mine, in: in, part: p.whole(len(x))}, mixFull)
	}
	for _, m := range in {
		if err := m.Believe(float32(p.theta)); err != nil {
			return algos.Mixed{}, fmt.Errorf("moniqua: theta of an exchange: %w", err)
		}
	}
	return p.Codec.Mix(acc, number, x, mine, in)
}

// Verifies reports whether payloads end with a hash.
func (c *PairCodec) Verifies() bool { return c.offered.Verify }

// AppendRepair appends the quotients of the message of exchange number, which is one piece, if it is the last exchange
// that this worker or peer has offered.
func (c *PairCodec) AppendRepair(dst []byte, number, piece int, asked []byte) ([]byte, bool) {
	p, err := c.exchange(number)
	if err != nil {
		return dst, false
	}
	return p.Codec.AppendRepair(dst, number, piece, asked)
}

// ExtraMemory returns the most bytes that the quotients of two exchanges have taken.
func (c *PairCodec) ExtraMemory() int {
	return c.offered.Codec.ExtraMemory() + c.answered.Codec.ExtraMemory()
}

// MaxPayload returns the largest size in bytes of a message or a repair of d coordinates.
func (c *PairCodec) MaxPayload(d int) int {
	most := c.offered.Codec.MaxPayload(d)
	if c.control.measures() {
		most = max(most, 4*d)
	}
	return most
}

// State shows the state of the control. It leaves out open exchanges.
func (c *PairCodec) State(v *state.Visit) { v.Part("theta", c.control) }

// Exchanges returns the last exchanges for which the two ends have asked, with what their repairs need. It leaves out
// an audit.
func (c *PairCodec) Exchanges() state.Keeper { return (*openPairings)(c) }

type openPairings PairCodec

// State shows the last exchange of each end, and the terms of the last question.
func (c *openPairings) State(v *state.Visit) {
	v.Part("proposed", &c.proposed)
	v.Part("offered", &c.offered)
	v.Part("answered", &c.answered)
}

// State shows the number, θ and repair of an exchange, whose message is one piece.
func (p *pairing) State(v *state.Visit) {
	p.terms.State(v)
	if !p.Verify {
		return
	}
	kept := p.verification.newest()
	encoded := len(kept.ends) > 0
	v.Bool("kept", &encoded)
	state.Int(v, "round", &kept.k, 0, math.MaxInt)
	v.Bytes("quotients", &kept.data)
	if v.Loading() && encoded {
		kept.end()
	}
	most := p.verification.extra()
	state.Int(v, "most", &most, 0, math.MaxInt)
	p.verification.most = most
}

// State shows the terms of an exchange.
func (t *terms) State(v *state.Visit) {
	state.Int(v, "number", &t.number, -1, math.MaxInt)
	v.Double("theta", &t.theta)
	v.Double("unit", &t.unit)
}
