package moniqua

import (
	"fmt"
	"math"

	"gossiptrainer/algos"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/vec"
	"gossiptrainer/topology"
)

// Moniqua on AD-PSGD (Lu and De Sa, algorithm 3): models meet in pairs, at times
// that no other worker knows. So all workers need not agree on anything. The worker
// that offers an exchange chooses θ and sends it with the offer. The other end recovers
// the offer and encodes its answer with the same θ, so that two values of θ never meet
// in one exchange.

// A PairCodec is the codec of one worker on one link of AD-PSGD. Of the
// exchanges that either end has offered on it at most one is not over; each of
// the two has a codec of its own, which keeps the quotients of that exchange.
type PairCodec struct {
	peer     topology.Rank
	control  *PairControl
	offered  pairing // by this worker
	answered pairing // by this worker, offered by peer
}

// A pairing is the exchange that one end of a link has offered last.
type pairing struct {
	Codec
	number int
	theta  float64 // 0 in full precision
	unit   float64 // θ is proportional to it
}

// NewPair returns the codec of a worker on its link to peer: one like codec,
// which must be unused and needs no Theta, with θ from the control of the
// worker, the same on all its links. Seed must be the same at both ends of the
// link and at no other. It fails if the levels do not suit the rounding mode.
func NewPair(codec Codec, peer topology.Rank, control *PairControl) (*PairCodec, error) {
	if err := codec.Rounding.Check(codec.Levels); err != nil {
		return nil, err
	}
	c := &PairCodec{peer: peer, control: control}
	for _, p := range []*pairing{&c.offered, &c.answered} {
		p.Codec, p.number = codec, -1
		p.Theta = func(int) float64 { return p.theta }
	}
	return c, nil
}

// Propose returns the note of the offer of exchange number: the bits of θ as a
// float32, 0 for full precision. clock counts the steps that a worker has
// done on average.
func (c *PairCodec) Propose(number, clock int) uint32 {
	p := &c.offered
	p.number, p.unit = number, c.control.unit(clock)
	p.theta = c.control.choose(clock)
	return math.Float32bits(float32(p.theta))
}

// Heed takes over the note of peer's offer of exchange number, or returns the reason
// why the note holds no θ.
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

// Ended tells the control of θ about the exchange offered last, and how many of its two
// messages had to be repaired.
func (c *PairCodec) Ended(_ int, saw algos.Mixed, repaired int) {
	c.control.ended(c.offered.unit, saw, repaired)
}

// Control returns where θ comes from.
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

// Encode appends the model as exchange number carries it to dst, as Codec.Encode
// does. That peer has chosen a θ in which a finite model has no indices is an
// *algos.MessageError.
func (c *PairCodec) Encode(dst []byte, number int, x []float32) ([]byte, error) {
	p, err := c.exchange(number)
	if err != nil {
		return dst, err
	}
	if p.theta == 0 {
		return algos.Full{}.Encode(dst, number, x)
	}
	p.verification.forget()
	dst, err = p.Codec.Encode(dst, number, x)
	if err != nil && p == &c.answered && vec.Finite(x) {
		err = &algos.MessageError{From: c.peer, Err: err}
	}
	return dst, err
}

// Mix is Codec.Mix in exchange number. Values of a message are within about θ of
// x, so that an absurd θ of the other end is found like absurd values.
func (c *PairCodec) Mix(acc []float32, number int, x []float32, mine []byte, in []algos.Message) (algos.Mixed, error) {
	p, err := c.exchange(number)
	if err != nil {
		return algos.Mixed{}, err
	}
	if p.theta == 0 {
		return algos.Full{}.Mix(acc, number, x, mine, in)
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

// AppendRepair appends the quotients of the message of exchange number, if this worker
// or peer has offered that exchange last.
func (c *PairCodec) AppendRepair(dst []byte, number int) ([]byte, bool) {
	p, err := c.exchange(number)
	if err != nil {
		return dst, false
	}
	return p.Codec.AppendRepair(dst, number)
}

// ExtraMemory returns the bytes allocated for the quotients of two exchanges.
func (c *PairCodec) ExtraMemory() int {
	return c.offered.Codec.ExtraMemory() + c.answered.Codec.ExtraMemory()
}

// MaxPayload returns the most bytes that a message or a repair of d coordinates
// has.
func (c *PairCodec) MaxPayload(d int) int {
	most := c.offered.Codec.MaxPayload(d)
	if c.control.measures() {
		most = max(most, 4*d)
	}
	return most
}

// State shows that of the control. Exchanges that are open are not kept.
func (c *PairCodec) State(v *state.Visit) { v.Part("theta", c.control) }
