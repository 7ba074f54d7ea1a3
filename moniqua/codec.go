package moniqua

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gossiptrainer/algos"
	"gossiptrainer/gossip/state"
	"gossiptrainer/internal/kernel"
	"gossiptrainer/internal/rng"
	"gossiptrainer/quant"
	"gossiptrainer/topology"
)

// A Codec is the modulo codec of one worker. Its fields must not change after its first use; all workers of a run share
// all of them except Rank and Control. The methods are safe for concurrent use unless the codec verifies, is
// controlled or has exact coordinates.
//
//	encode:  κ_i = ⌊x/D + u⌋, sent as the symbol κ_i mod N
//	decode:  κ'  = the one integer ≡ symbol (mod N) in [t − N/2, t + N/2), t = y/D + c
//	mix:     x + D·Σ_j w_j·(κ'_j − κ_i)
//
// y = x is the receiver's own model, c = u − 1/2 with Dither and 0 otherwise. The file plain.go has the same formulas
// in Go; a path computes them fast.
type Codec struct {
	Levels   int                 // N, 2 to 65536; 3 or more with Stochastic and Shared
	Rounding Rounding            // the zero value is Dither
	Theta    func(k int) float64 // θ_k > 0, the same at all workers, see Theorem and Certified
	Seed     uint64              // of the rounding noise
	Rank     topology.Rank       // the worker whose own noise Stochastic takes
	Verify   bool                // payloads end with the index hash, see AppendRepair
	Control  *Control            // of this worker: the source of Theta if θ changes during the run
	Audit    *Audit              // shared by all workers of this process, if they do not verify; nil: none
	Bits     func(k int) int     // N is 2^Bits(k), at most Levels, the same at all workers; nil: always Levels
	Exact    int                 // E ≥ 0: the last E coordinates travel in full precision, see exact.go
	Piece    int                 // coordinates of a piece, ≥ 0, for tests; 0: the standard length, 63 blocks

	verification verification
	cut          cut
}

var _ algos.Codec = (*Codec)(nil)

// New returns the codec of worker rank, or the reason why there is none. Levels may be out of range or too few for the
// rounding mode. Theta may be missing, or not positive and finite in round 0.
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

// finestStep returns the step of round k with the most levels that a round may have.
func finestStep(c *Codec, k int) float64 {
	return Grid{Theta: c.Theta(k), Levels: c.Levels, Rounding: c.Rounding}.Step()
}

// levels returns the N of round k. If Bits gives more than Levels it returns none, which no grid accepts.
func (c *Codec) levels(k int) int {
	if c.Bits == nil {
		return c.Levels
	}
	if bits := c.Bits(k); bits > 0 && bits <= maxBits && 1<<bits <= c.Levels {
		return 1 << bits
	}
	return 0
}

// maxBits is the largest number of bits of a symbol.
const maxBits = 16

// round returns the codec in round k, for models that begin with coordinate origin.
func (c *Codec) round(k, origin int) (round, error) {
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
	r.encode.origin, r.windows.origin = origin, origin
	if c.Verify {
		r.tail = HashLen
	}
	return r, nil
}

// noise returns the source of u in round k.
func (c *Codec) noise(k int) rng.Key {
	if c.Rounding == Stochastic {
		return rng.At(rng.Stream(c.Seed, int(c.Rank)), k)
	}
	return rng.At(c.Seed, k)
}

// Encode appends to dst the symbols of x but for its exact coordinates, quant.Packing.Len(len(x) − E) bytes. With
// Verify the 8 bytes of their index hash follow, and then the exact coordinates, 4 bytes each. It fails, and leaves dst
// unchanged, if a coordinate is NaN or infinite or its index reaches ±2³¹.
func (c *Codec) Encode(dst []byte, k int, x []float32) ([]byte, error) {
	return c.encodePart(dst, k, x, c.whole(len(x)))
}

// encodePart is Encode of a part of x.
func (c *Codec) encodePart(dst []byte, k int, x []float32, p part) ([]byte, error) {
	start := len(dst)
	if p.first == 0 && c.Verify {
		c.verification.reserve(c.before(len(x)))
	}
	dst, err := c.encode(dst, k, x[p.first:p.at], p.first)
	if err != nil || p.at == p.end {
		return dst, err
	}
	if dst, err = (algos.Full{}).Encode(dst, k, x[p.at:p.end]); err != nil {
		return dst[:start], err
	}
	return dst, nil
}

// encode is Encode of coordinates from number first on that are not exact.
func (c *Codec) encode(dst []byte, k int, x []float32, first int) ([]byte, error) {
	if full(c, k) {
		return algos.Full{}.Encode(dst, k, x)
	}
	r, err := c.round(k, first)
	if err != nil {
		return dst, err
	}
	var kept *verification
	if c.Verify || c.Audit != nil {
		kept = &c.verification
		kept.begin(k, first)
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
		kept.newest().end()
		dst = binary.LittleEndian.AppendUint64(dst, kept.hash.Sum())
	case c.Audit != nil:
		c.Audit.enter(audited{c.Seed, c.Rank, first}, k, kept.hash.Sum())
	}
	return dst, nil
}

// MaxPayload returns the largest size in bytes of a whole message, or of its repair, of d coordinates in any round.
func (c *Codec) MaxPayload(d int) int { return c.maxPayload(c.before(d), d) }

// MaxPiece is MaxPayload of the largest piece of a model of d coordinates.
func (c *Codec) MaxPiece(d int) int {
	at := c.before(d)
	first := min(at, c.pieces(d).Len)
	return c.maxPayload(first, first+d-at)
}

// maxPayload is MaxPayload for d coordinates. Those from at on are exact.
func (c *Codec) maxPayload(at, d int) int {
	packing, err := quant.NewPacking(c.Levels)
	if err != nil {
		return 0 // the codec cannot be used
	}
	most := packing.Len(at) + floatBytes*(d-at)
	if c.Verify {
		most = max(most+HashLen, maxQuotients(at, blockOf(packing)))
	}
	if c.Control != nil {
		most = max(most, floatBytes*d) // full precision
	}
	return most
}

// Mix recovers the indices of all messages with x as the reference. It adds their weighted differences to this worker's
// indices to acc, see algos.Codec. It recovers its own indices from mine in the same way, which is exact. Each
// coordinate of acc is rounded once.
//
// The model x must be the one that mine encodes in the same round. If acc is not x, Mix returns an error for a model
// that Encode would have refused. With Verify the error is an *algos.MismatchError if indices were recovered wrongly
// and there is no Repair yet.
//
// Gap leaves out exact coordinates, on which θ does not depend.
func (c *Codec) Mix(acc []float32, k int, x []float32, mine []byte, in []algos.Message) (algos.Mixed, error) {
	return c.mixExact(k, gathered{acc: acc, x: x, mine: mine, in: in, part: c.whole(len(x))}, c.mix)
}

// mix is Mix of the coordinates that are not exact.
func (c *Codec) mix(k int, g gathered) (algos.Mixed, error) {
	if full(c, k) {
		return mixFull(k, g)
	}
	r, err := c.round(k, g.part.first)
	if err != nil {
		return algos.Mixed{}, err
	}
	if err := r.checkMix(&g); err != nil {
		return algos.Mixed{}, err
	}
	if c.Control != nil && c.Control.bounds(k) {
		c.Control.reach(r.largest(g.x), finestStep(c, k))
	}
	switch {
	case c.Verify:
		if !g.checked {
			if err := r.fill(g.x, g.in); err != nil {
				return algos.Mixed{}, err
			}
			if err := c.verification.check(&r, g.x, g.in); err != nil {
				return algos.Mixed{}, err
			}
		}
	case c.Audit != nil:
		if err := c.Audit.compare(audited{c.Seed, c.Rank, g.part.first}, &c.verification, &r, g.x, g.in); err != nil {
			return algos.Mixed{}, err
		}
	}
	if len(g.in) == 0 {
		return algos.Mixed{}, nil
	}
	if repaired(g.in) {
		g.repairs = c.verification.mends(g.part.piece, g.in)
	}
	saw, err := r.path(g.in).mix(r, g)
	saw.Largest = saw.Gap // the distance of the models is all that a message tells
	return saw, err
}

// A path is one implementation of a round. All paths give the same bits as plain.go. They differ in the messages that
// they accept and in speed.
type path interface {
	// encode writes the symbols of x to payload, whose length matches. If v is not nil, encode adds the indices to the
	// hash of v and keeps their quotients in v.
	encode(r round, payload []byte, x []float32, v *verification) error
	// mix adds the differences of the messages to acc. There is at least one message, and all have been checked.
	mix(r round, g gathered) (algos.Mixed, error)
}

// path returns the fastest path for the levels of r and the messages in. When the worker encodes, there are no
// messages.
func (r *round) path(in []algos.Message) path {
	mending := repaired(in)
	switch {
	case r.width == 0, mending && (r.width == 8 || len(in) > usual):
		return anyPath{}
	case mending:
		return mendPath{}
	case r.width == 1:
		return bitPath{}
	case len(in) > usual:
		return manyPath{}
	}
	return bytePath{}
}

// full reports whether round k is one of full precision, in which wrong recovery is impossible.
func full(c *Codec, k int) bool { return c.Control != nil && c.Control.Full(k) }

// Note returns the note of the control of θ, 0 without a control.
func (c *Codec) Note(k int) uint32 {
	if c.Control == nil {
		return 0
	}
	return uint32(c.Control.told)
}

// Mixed reports one exchange to the control of θ.
func (c *Codec) Mixed(k int, notes []uint32, saw algos.Mixed, repaired int) {
	if c.Control != nil {
		c.Control.mixed(k, notes, saw, repaired)
	}
}

// Scale returns the scale of θ in exchange x, and whether this worker knows it. Without a control it is 0, and known.
func (c *Codec) Scale(x int) (scale float64, known bool) {
	if c.Control == nil {
		return 0, true
	}
	return c.Control.at(x)
}

// Verifies reports whether payloads end with a hash.
func (c *Codec) Verifies() bool { return c.Verify }

// AppendRepair appends the quotients of a piece of round k, at most MaxPiece bytes, if the round is one of those
// encoded last: two, or as many as Behind says. A message of Encode has the one piece 0. Where asked is the data of a
// receiver's MismatchError, AppendRepair appends only the spans that this receiver needs, unless all are shorter.
func (c *Codec) AppendRepair(dst []byte, k, piece int, asked []byte) ([]byte, bool) {
	for i := range c.verification.kept {
		if kept := &c.verification.kept[i]; kept.k == k && piece >= 0 && piece < len(kept.ends) {
			return appendRepair(dst, kept.piece(piece), asked, c.block())
		}
	}
	return dst, false
}

// Behind says how many exchanges a receiver may be behind this worker, 1 if it is not called. It comes before the
// first Encode.
func (c *Codec) Behind(exchanges int) { c.verification.ahead = exchanges }

// ExtraMemory returns the most bytes that the quotients of these rounds have taken. It leaves out an audit, which is
// not part of the method.
func (c *Codec) ExtraMemory() int {
	if !c.Verify {
		return 0
	}
	return c.verification.extra()
}

// State shows the state of the control of theta, and the repairs of all but the oldest encoded rounds: a neighbour may
// not have mixed them yet.
func (c *Codec) State(v *state.Visit) {
	if c.Control != nil {
		v.Part("control", c.Control)
	}
	if c.Verify {
		for i := range c.verification.rounds() - 1 {
			c.verification.before(i).state(v, c, i)
		}
		c.verification.most = c.verification.extra()
		state.Int(v, "most", &c.verification.most, 0, math.MaxInt)
	}
}

// state shows the repair of an earlier round, counted back from the newest.
func (r *repair) state(v *state.Visit, c *Codec, before int) {
	number := ""
	if before > 0 {
		number = strconv.Itoa(before)
	}
	valid := len(r.ends) > 0
	v.Bool("kept"+number, &valid)
	state.Int(v, "round"+number, &r.k, 0, math.MaxInt)
	v.Bytes("quotients"+number, &r.data)
	if v.Loading() && valid {
		r.cut(c)
	}
}
