package moniqua

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"gossiptrainer/algos"
	"gossiptrainer/internal/kernel"
	"gossiptrainer/quant"
)

// A round is the codec with the settings of one round.
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

// byteWidth returns b for N = levels = 2^b up to 256 symbols, else 0.
func byteWidth(levels int) int {
	if levels > 256 || levels&(levels-1) != 0 {
		return 0
	}
	return bits.TrailingZeros(uint(levels))
}

// blockOf returns the coordinates per block: a multiple of the packing's group.
func blockOf(packing quant.Packing) int { return blockLen / packing.Group() * packing.Group() }

// mixed returns the result of a path: the largest difference of indices, and the number of coordinates with a
// difference.
func (r *round) mixed(largest, moved int) algos.Mixed {
	return algos.Mixed{Gap: float32(float64(largest) * r.grid.Step()), Moved: moved}
}

// gathered holds the arguments of Mix, for a whole model or for a piece of it.
type gathered struct {
	acc, x  []float32
	mine    []byte
	in      []algos.Message
	repairs [][]byte // by message: the rest of its repair
	part    part
	checked bool // the indices of the messages have been verified
}

// repaired reports whether one of the messages comes with a repair.
func repaired(in []algos.Message) bool {
	return slices.ContainsFunc(in, func(m algos.Message) bool { return m.Repair != nil })
}

// usual is the number of neighbours up to which the working memory of mixing is on the stack.
const usual = 31

// room returns n elements: of few if it has as many, else new ones.
func room[T any](few []T, n int) []T {
	if n > len(few) {
		return make([]T, n)
	}
	return few[:n]
}

// mixedInLanes reports whether lanes alone can mix the messages in.
func (r *round) mixedInLanes(in []algos.Message) bool {
	return r.width > 0 && len(in) > 0 && !repaired(in)
}

// sent returns n symbols of payload from coordinate first on, in the upper bits of
// bytes. Symbols of 8 bits stay in place; others are unpacked to memory.
func (r *round) sent(memory, payload []byte, first, n int) []byte {
	if r.width == 8 {
		return payload[first : first+n]
	}
	r.tier.Unpack(memory[:n], r.width, payload[first/8*r.width:])
	return memory[:n]
}

// checkMix returns the reason why the arguments of Mix cannot be used, if any, before acc changes.
func (r *round) checkMix(g *gathered) error {
	if len(g.acc) != len(g.x) {
		return fmt.Errorf("moniqua: internal error: round %d: mix of %d parameters into %d", r.k, len(g.x), len(g.acc))
	}
	if !inPlace(g.acc, g.x) || !r.mixedInLanes(g.in) {
		if err := r.checkReference(g.x); err != nil {
			return err
		}
	}
	if err := r.checkPayload(g.mine, len(g.x)); err != nil {
		return fmt.Errorf("moniqua: round %d: own payload: %w", r.k, err)
	}
	return r.checkPayloads(len(g.x), g.in)
}

// checkPayloads returns a *MessageError for a message that does not hold d coordinates.
func (r *round) checkPayloads(d int, in []algos.Message) error {
	for _, message := range in {
		if err := r.checkPayload(message.Payload, d); err != nil {
			return &algos.MessageError{From: message.From, Err: fmt.Errorf("moniqua: round %d: %w", r.k, err)}
		}
	}
	return nil
}

// inPlace reports whether acc is x. Then Encode has already checked x, so the lanes do not read it again, which would
// cost a quarter of the pass over memory.
func inPlace(acc, x []float32) bool { return len(acc) > 0 && &acc[0] == &x[0] }

// checkPayload makes sure that payload holds d symbols and the hash, if any.
func (r *round) checkPayload(payload []byte, d int) error {
	if len(payload) < r.tail {
		return fmt.Errorf("%d bytes: the hash alone takes %d", len(payload), r.tail)
	}
	return r.packing.Check(payload[:len(payload)-r.tail], d)
}

// checkReference makes sure that every coordinate of x is within 2³² steps of 0.
func (r *round) checkReference(x []float32) error {
	bound := float32(min(r.grid.Step()*(1<<32), math.MaxFloat32))
	limit := math.Float32bits(bound)
	if r.tier.Magnitude(x) <= limit {
		return nil
	}
	for i, v := range x {
		if math.Float32bits(v)&^(1<<31) > limit { // NaN and Inf are above every number
			return r.strange(v, i)
		}
	}
	return nil
}

// largest returns the magnitude of the finite coordinates x.
func (r *round) largest(x []float32) float32 { return math.Float32frombits(r.tier.Magnitude(x)) }

// strange returns the error for coordinate at of x, which has no index.
func (r *round) strange(v float32, at int) error {
	if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
		return fmt.Errorf("moniqua: round %d: coordinate %d: %v is not finite", r.k, r.encode.origin+at, v)
	}
	return fmt.Errorf("moniqua: round %d: coordinate %d: %v is 2³¹ or more steps of %v from 0: "+
		"the model exploded or theta %v is far too small",
		r.k, r.encode.origin+at, v, r.grid.Step(), r.grid.Theta)
}
