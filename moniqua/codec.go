package moniqua

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
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
//	encode:  k_i = ⌊x/D + u⌋, sent as the symbol k_i mod N
//	decode:  k'  = the one integer ≡ symbol (mod N) in [t − N/2, t + N/2), t = y/D + c
//	mix:     x + D·Σ_j w_j·(k'_j − k_i)
//
// y = x is the receiver's own model, c = u − 1/2 with Dither and 0 otherwise.
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

var (
	_ algos.Codec = (*Codec)(nil)
)

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
	var (
		start = len(dst)
		end   = start + r.packing.Len(len(x))
		kept  *repair
	)
	if c.Verify || c.Audit != nil {
		kept = c.verification.begin(k)
	}
	dst = slices.Grow(dst, end-start+HashLen)
	switch width := r.byteWidth(); {
	case width == 0:
		err = c.verification.encodeWords(&r, dst[start:start:end], x, kept)
	case kept != nil:
		err = c.verification.encodeBytes(&r, dst[start:end], x, width, kept)
	default:
		err = r.encodeBytes(dst[start:end], x, width)
	}
	if err != nil {
		return dst[:start], err
	}
	dst = dst[:end]
	switch {
	case c.Verify:
		kept.valid = true
		dst = binary.LittleEndian.AppendUint64(dst, c.verification.hash.Sum())
	case c.Audit != nil:
		c.Audit.enter(c, k, c.verification.hash.Sum())
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

// encodeWords appends the symbols of x, of any number of levels. kept is nil
// without verification.
func (v *verification) encodeWords(r *round, dst []byte, x []float32, kept *repair) error {
	var (
		index   [blockLen]int64
		symbols [blockLen]uint16
	)
	for first := 0; first < len(x); first += r.block {
		part := x[first:min(first+r.block, len(x))]
		if err := r.indices(index[:len(part)], part, first); err != nil {
			return err
		}
		r.divisor.residues(symbols[:len(part)], index[:len(part)])
		var err error
		if dst, err = r.packing.Pack(dst, symbols[:len(part)]); err != nil {
			return fmt.Errorf("moniqua: internal error: %w", err)
		}
		if kept != nil {
			v.note(r, kept, index[:len(part)], symbols[:len(part)])
		}
	}
	return nil
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
	var saw algos.Mixed
	switch width := r.byteWidth(); {
	case width > 0 && width < 8 && repaired(in) && len(in) <= inLanes:
		saw, err = r.mixRepaired(acc, x, mine, in, c.verification.rest)
	case !r.inLanes(in):
		saw, err = r.mixWords(acc, x, mine, in, c.verification.rest)
	case width == 1:
		saw, err = r.mixBits(acc, x, mine, in)
	default:
		saw, err = r.mixBytes(acc, x, mine, in, width)
	}
	saw.Largest = saw.Gap // all that a message says is how far the models are apart
	return saw, err
}

// mixWords is Mix for any number of levels; repairs are those not read yet.
func (r *round) mixWords(acc, x []float32, mine []byte, in []algos.Message, repairs [][]byte) (algos.Mixed, error) {
	var (
		m       mixer
		largest int32
		moved   int
	)
	for first := 0; first < len(x) && len(in) > 0; first += r.block {
		end := min(first+r.block, len(x))
		if err := m.block(r, x[first:end], first, mine, in, repairs); err != nil {
			return algos.Mixed{}, fmt.Errorf("moniqua: internal error: %w", err)
		}
		top, count := m.drain(acc[first:end])
		largest, moved = max(largest, top), moved+count
	}
	return algos.Mixed{Gap: float32(float64(largest) * r.grid.Step()), Moved: moved}, nil
}

// repaired reports whether one of the messages comes with a repair.
func repaired(in []algos.Message) bool {
	return slices.ContainsFunc(in, func(m algos.Message) bool { return m.Repair != nil })
}

// A mixer is the working memory of Mix, on its stack.
type mixer struct {
	mixing
	index             [blockLen]int64
	low, own, symbols [blockLen]uint16
}

// block sums the messages over the coordinates x, which begin at first. Of
// those that are repaired it takes the indices from repairs, as far as not read.
func (m *mixer) block(r *round, x []float32, first int, mine []byte, in []algos.Message, repairs [][]byte) error {
	n := len(x)
	low, own, symbols := m.low[:n], m.own[:n], m.symbols[:n]
	from, to := r.packing.Len(first), r.packing.Len(first+n)
	if at := r.windows.round(m.index[:n], x, first); at >= 0 {
		return r.strange(x[at], first+at)
	}
	r.divisor.residues(low, m.index[:n])
	if err := r.packing.Unpack(own, mine[from:to]); err != nil {
		return err
	}
	levels := int32(r.grid.Levels)
	place(own, own, low, levels)
	for j := range in {
		if err := r.packing.Unpack(symbols, in[j].Payload[from:to]); err != nil {
			return err
		}
		scale := float32(float64(in[j].Weight) * r.grid.Step())
		if in[j].Repair == nil {
			m.add(symbols, low, own, levels, scale)
			continue
		}
		var err error
		if repairs[j], err = m.addRepaired(r, repairs[j], symbols, own, scale); err != nil {
			return err
		}
	}
	return nil
}

// addRepaired is add for one neighbour whose indices are given by quotients.
func (m *mixer) addRepaired(r *round, repair []byte, symbols, own []uint16, scale float32) (rest []byte, err error) {
	var theirs [blockLen]int32
	if rest, err = r.mend(theirs[:len(symbols)], repair, symbols); err != nil {
		return nil, err
	}
	for i := range symbols {
		difference := int64(theirs[i]) - (m.index[i] + int64(own[i]))
		m.sum[i] += float32(scale * float32(difference))
		m.peak[i] = max(m.peak[i], int32(min(max(difference, -difference), math.MaxInt32)))
	}
	return rest, nil
}

// A round is the codec in one round.
type round struct {
	k       int
	grid    Grid
	packing quant.Packing
	divisor divisor
	block   int // coordinates per block
	tail    int // bytes of a payload after the symbols
	encode  rounder
	windows rounder
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
	r := round{k: k, grid: grid, packing: packing, divisor: newDivisor(grid.Levels), block: blockOf(packing), tier: kernel.Best()}
	if c.Verify {
		r.tail = HashLen
	}
	r.encode = rounder{step: grid.Step(), scale: 1 / grid.Step(), key: c.noise(k), random: true}
	r.windows = r.encode
	r.windows.window, r.windows.half = true, float64(grid.Levels)/2
	switch grid.Rounding {
	case Nearest:
		r.encode.random, r.encode.shift = false, 0.5
		r.windows.random = false
	case Stochastic, Shared:
		r.windows.random = false
	case Dither:
		r.windows.shift = -0.5
	}
	return r, nil
}

// blockOf returns the coordinates per block: a multiple of the packing's group.
func blockOf(packing quant.Packing) int { return blockLen / packing.Group() * packing.Group() }

// noise returns the source of u in round k.
func (c *Codec) noise(k int) rng.Key {
	if c.Rounding == Stochastic {
		return rng.At(rng.Stream(c.Seed, int(c.Rank)), k)
	}
	return rng.At(c.Seed, k)
}

// indices writes the grid indices of x, which begins at coordinate first.
func (r *round) indices(dst []int64, x []float32, first int) error {
	if at := r.encode.round(dst, x, first); at >= 0 {
		return r.strange(x[at], first+at)
	}
	for i, v := range dst {
		if v > math.MaxInt32 || v < -math.MaxInt32 {
			return r.strange(x[i], first+i)
		}
	}
	return nil
}

// strange is the error for a coordinate that has no index.
func (r *round) strange(v float32, at int) error {
	if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
		return fmt.Errorf("moniqua: round %d: coordinate %d: %v is not finite", r.k, at, v)
	}
	return fmt.Errorf("moniqua: round %d: coordinate %d: %v is 2³¹ or more steps of %v from 0: the model exploded or theta %v is far too small",
		r.k, at, v, r.grid.Step(), r.grid.Theta)
}
