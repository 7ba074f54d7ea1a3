package moniqua

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"gossiptrainer/algos"
	"gossiptrainer/internal/kernel"
	"gossiptrainer/internal/rng"
	"gossiptrainer/quant"
	"gossiptrainer/topology"
)

// A Codec is the modulo codec of one worker. Its fields must not change once
// it is used; all workers of a run agree on all of them but Rank and Control.
// The methods are safe for concurrent use unless it verifies or is controlled.
//
//	encode:  κ_i = ⌊x/D + u⌋, sent as the symbol κ_i mod N
//	decode:  κ'  = the one integer ≡ symbol (mod N) in [t − N/2, t + N/2), t = y/D + c
//	mix:     x + D·Σ_j w_j·(κ'_j − κ_i)
//
// y = x is the receiver's own model, c = u − 1/2 with Dither and 0 otherwise.
// plain.go says the same in Go; a path does it.
type Codec struct {
	Levels   int                 // N, 2 to 65536; 3 or more with Stochastic and Shared
	Rounding Rounding            // the zero value is Dither
	Theta    func(k int) float64 // θ_k > 0, the same at all workers, see Theorem and Certified
	Seed     uint64              // of the rounding noise
	Rank     topology.Rank       // whose own noise Stochastic takes
	Verify   bool                // payloads end with the index hash, see AppendRepair
	Control  *Control            // where Theta comes from, if it changes with the run; of this worker
	Audit    *Audit              // of all workers of this process, if they do not verify; nil: nobody looks on
	Bits     func(k int) int     // N is 2^Bits(k), at most Levels, the same at all workers; nil: always Levels

	verification verification
}

var _ algos.Codec = (*Codec)(nil)

// New returns the codec of worker rank, or the reason why there is none: levels
// out of range or too few for the rounding mode, no theta, or one that is not
// positive and finite in round 0.
func New(levels int, rounding Rounding, theta func(k int) float64, seed uint64, rank topology.Rank) (*Codec, error) {
	c := &Codec{Levels: levels, Rounding: rounding, Theta: theta, Seed: seed, Rank: rank}
	if _, err := c.Grid(0); err != nil {
		return nil, err
	}
	return c, nil
}

// NewControlled returns the codec of worker rank that takes θ from control, or
// the reason why there is none.
func NewControlled(levels int, rounding Rounding, control *Control, seed uint64, rank topology.Rank) (*Codec, error) {
	if err := rounding.Check(levels); err != nil {
		return nil, err
	}
	return &Codec{
		Levels: levels, Rounding: rounding, Theta: control.Theta, Seed: seed, Rank: rank, Control: control,
	}, nil
}

// Grid returns the grid of round k. It fails if the codec's fields or θ_k admit none.
func (c *Codec) Grid(k int) (Grid, error) {
	if c.Theta == nil {
		return Grid{}, errors.New("moniqua: no theta: set a rule")
	}
	g := Grid{Theta: c.Theta(k), Levels: c.levels(k), Rounding: c.Rounding}
	if err := g.Check(); err != nil {
		return Grid{}, fmt.Errorf("%w (round %d)", err, k)
	}
	return g, nil
}

// levels returns the N of round k; none, which no grid has, if Bits gives more
// than Levels.
func (c *Codec) levels(k int) int {
	if c.Bits == nil {
		return c.Levels
	}
	if bits := c.Bits(k); bits > 0 && bits <= maxBits && 1<<bits <= c.Levels {
		return 1 << bits
	}
	return 0
}

// maxBits is the most that a symbol has.
const maxBits = 16

// Encode appends the symbols of x, quant.Packing.Len(len(x)) bytes, and with
// Verify the 8 bytes of their index hash to dst. It fails, with dst as it was, if
// a coordinate is NaN or infinite or its index reaches ±2³¹.
func (c *Codec) Encode(dst []byte, k int, x []float32) ([]byte, error) {
	if c.full(k) {
		return algos.Full{}.Encode(dst, k, x)
	}
	r, err := c.round(k)
	if err != nil {
		return dst, err
	}
	var kept *verification
	if c.Verify || c.Audit != nil {
		kept = &c.verification
		kept.begin(k)
	}
	start := len(dst)
	end := start + r.packing.Len(len(x))
	dst = slices.Grow(dst, end-start+HashLen)
	if err := r.path(nil).encode(r, dst[start:end], x, kept); err != nil {
		return dst[:start], err
	}
	dst = dst[:end]
	switch {
	case c.Verify:
		kept.newest().valid = true
		dst = binary.LittleEndian.AppendUint64(dst, kept.hash.Sum())
	case c.Audit != nil:
		c.Audit.enter(c, k, kept.hash.Sum())
	}
	return dst, nil
}

// Layout returns that of the payload of round k and d coordinates.
func (c *Codec) Layout(k, d int) quant.Layout {
	if c.full(k) {
		return quant.Floats(d)
	}
	l := quant.Layout{Levels: c.levels(k), Count: d}
	if c.Verify {
		l.Tail = HashLen
	}
	return l
}

// Mix recovers the indices of all messages with x as the reference and adds
// their weighted differences to the own ones to acc, as algos.Codec says. The
// own indices are recovered from mine in the same way, which is exact. acc
// rounds once per coordinate.
//
// x must be the model that mine was encoded from in the same round; unless acc
// is x, one that Encode would have refused is an error. With Verify
// the error is an *algos.MismatchError where indices were recovered wrongly and
// there is no Repair yet.
func (c *Codec) Mix(acc []float32, k int, x []float32, mine []byte, in []algos.Message) (algos.Mixed, error) {
	if c.full(k) {
		return algos.Full{}.Mix(acc, k, x, mine, in)
	}
	r, err := c.round(k)
	if err != nil {
		return algos.Mixed{}, err
	}
	if err := r.checkMix(acc, x, mine, in); err != nil {
		return algos.Mixed{}, err
	}
	switch {
	case c.Verify:
		if err := c.verification.check(&r, x, in); err != nil {
			return algos.Mixed{}, err
		}
		c.verification.start(in)
	case c.Audit != nil:
		if err := c.Audit.compare(c, &r, x, in); err != nil {
			return algos.Mixed{}, err
		}
	}
	if len(in) == 0 {
		return algos.Mixed{}, nil
	}
	saw, err := r.path(in).mix(r, gathered{acc, x, mine, in, c.verification.rest})
	saw.Largest = saw.Gap // all that a message says is how far the models are apart
	return saw, err
}

// A path is one way to do the work of a round. All paths give the same bits, those
// of plain.go; they differ in what they can take and in how fast they are.
type path interface {
	// encode writes the symbols of x to payload, which has their length. If v is not
	// nil, it enters the indices in the hash of v and keeps their quotients there.
	encode(r round, payload []byte, x []float32, v *verification) error
	// mix adds what the messages say to acc. There is at least one, and all have
	// been checked.
	mix(r round, g gathered) (algos.Mixed, error)
}

// gathered is what a path mixes.
type gathered struct {
	acc, x  []float32
	mine    []byte
	in      []algos.Message
	repairs [][]byte // by message: what of its repair is not read yet
}

// path returns the fastest path for the levels of r and the messages in; there are
// none when x is encoded.
func (r *round) path(in []algos.Message) path {
	mending := repaired(in)
	switch {
	case r.width == 0, len(in) > inLanes, mending && r.width == 8:
		return anyPath{}
	case mending:
		return mendPath{}
	case r.width == 1:
		return bitPath{}
	}
	return bytePath{}
}

// repaired reports whether one of the messages comes with a repair.
func repaired(in []algos.Message) bool {
	return slices.ContainsFunc(in, func(m algos.Message) bool { return m.Repair != nil })
}

// A round is the codec in one round.
type round struct {
	k       int
	grid    Grid
	plain   plain
	encode  rounder // to indices
	windows rounder // to the low ends of decode windows
	packing quant.Packing
	divisor divisor
	width   int // b for N = 2^b up to 256 symbols, else 0
	block   int // coordinates per block
	tail    int // bytes of a payload after the symbols
	tier    kernel.Tier
}

func (c *Codec) round(k int) (round, error) {
	grid, err := c.Grid(k)
	if err != nil {
		return round{}, err
	}
	packing, err := quant.NewPacking(grid.Levels)
	if err != nil {
		return round{}, err
	}
	p := plain{step: grid.Step(), levels: grid.Levels, rounding: grid.Rounding, key: c.noise(k)}
	r := round{
		k: k, grid: grid, plain: p, encode: newRounder(p, false), windows: newRounder(p, true),
		packing: packing, divisor: newDivisor(grid.Levels), width: byteWidth(grid.Levels), block: blockOf(packing),
		tier: kernel.Best(),
	}
	if c.Verify {
		r.tail = HashLen
	}
	return r, nil
}

// byteWidth returns b for N = levels = 2^b up to 256 symbols, else 0.
func byteWidth(levels int) int {
	if levels > 256 || levels&(levels-1) != 0 {
		return 0
	}
	return bits.TrailingZeros(uint(levels))
}

// blockOf returns the coordinates per block: a multiple of the packing's group.
func blockOf(packing quant.Packing) int { return blockLen / packing.Group() * packing.Group() }

// mixed returns what a path saw: the largest difference of indices, and the
// coordinates that have one.
func (r *round) mixed(largest, moved int) algos.Mixed {
	return algos.Mixed{Gap: float32(float64(largest) * r.grid.Step()), Moved: moved}
}

// noise returns the source of u in round k.
func (c *Codec) noise(k int) rng.Key {
	if c.Rounding == Stochastic {
		return rng.At(rng.Stream(c.Seed, int(c.Rank)), k)
	}
	return rng.At(c.Seed, k)
}

// strange is the error for a coordinate that has no index.
func (r *round) strange(v float32, at int) error {
	if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
		return fmt.Errorf("moniqua: round %d: coordinate %d: %v is not finite", r.k, at, v)
	}
	return fmt.Errorf("moniqua: round %d: coordinate %d: %v is 2³¹ or more steps of %v from 0: "+
		"the model exploded or theta %v is far too small",
		r.k, at, v, r.grid.Step(), r.grid.Theta)
}
