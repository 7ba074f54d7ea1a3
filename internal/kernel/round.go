package kernel

import (
	"math"

	"gossiptrainer/internal/kernel/asm"
	"gossiptrainer/internal/rng"
)

// Rounder rounds coordinates to equal parts of a range and writes the number of the part as a byte.
// With v = x or |x|,
//
//	r = (v − Low)/Unit
//	symbol = ⌊r + 1/2⌋ (Nearest), ⌊r + u⌋ (Above) or ⌊r⌋ + [u < r − ⌊r⌋] (Below),
//
// where u is the uniform number of the coordinate's index. With magnitudes, Sign is added to symbols
// other than 0 of negative x. r is at most 255. The definition uses float64; the lanes use 32 bits and
// report the coordinates for which those do not suffice.
//
// The product of v − Low and a factor of 2²²/Unit is a float within 3·2⁻²⁴ of 2²²·r, relatively. As r
// is at most 255, the error is within 192 units. Cutting it and u to whole units moves it by 3 more,
// and u lacks its last step, which changes it by up to 64. So a sum 512 or more units away from a
// multiple of 2²² has the floor of the definition. The others, one in 4,096, are doubtful and left to
// the caller. The draw Below is ⌊r + 1 − u⌋ except where u is the fraction of r, which is doubtful.
type Rounder struct {
	words  asm.RounderWords
	random bool
}

// A Draw is the way a Rounder rounds.
type Draw uint8

// The draws.
const (
	Nearest Draw = iota // ⌊r + 1/2⌋
	Above               // ⌊r + u⌋
	Below               // ⌊r⌋ + [u < r − ⌊r⌋]
)

// Parts describe the numbers to which a Rounder rounds.
type Parts struct {
	Low        float32 // lower bound of all v
	Unit       float64 // length of a part, in (2⁻⁶⁰, 2⁶⁰)
	Draw       Draw
	Magnitudes bool // v = |x|
	Sign       byte // added to symbols of negative x, with Magnitudes
}

const (
	// batch is the number of coordinates handled at a time: results come in multiples of it.
	batch     = asm.Batch
	roundRest = asm.RoundFraction
	roundUnit = 512 // a sum is doubtful within this number of units of an integer
)

// Set prepares r and reports whether the lanes can do it.
func (r *Rounder) Set(p Parts) bool {
	if !(p.Unit > 0x1p-60 && p.Unit < 0x1p60) {
		return false
	}
	mask, flip, shift := ^uint32(0), uint32(0), uint32(roundUnit)
	switch p.Draw {
	case Nearest:
		shift += 1 << (roundRest - 1)
	case Below:
		flip = ^uint32(0) // 1 − 2⁻²² − u
		shift++
	}
	if p.Magnitudes {
		mask >>= 1
	}
	r.random = p.Draw != Nearest
	r.words = asm.RounderWords{
		Mask:   eight(mask),
		Low:    eight(math.Float32bits(p.Low)),
		Factor: eight(math.Float32bits(float32((1 << roundRest) / p.Unit))),
		Flip:   eight(flip),
		Shift:  eight(shift),
		Test:   eight(1<<roundRest - 2*roundUnit),
		Sign:   eight(uint32(p.Sign) * 0x01010101),
	}
	return true
}

// A Uniform describes the uniform numbers of consecutive coordinates. The first one has the index
// First.
type Uniform struct {
	Key   rng.Key
	First int
}

// Round writes the symbols of x. It returns how many it wrote, a multiple of Batch, and sets the bits
// in doubt of the doubtful ones. doubtful is false if there are none. In Off it does nothing.
func (t Tier) Round(symbols []byte, x []float32, r *Rounder, u Uniform, doubt []byte) (done int, doubtful bool) {
	n := min(len(x), 8*len(doubt)) &^ (batch - 1)
	if t == Off || n == 0 {
		return 0, false
	}
	symbols, x = symbols[:n], x[:n]
	var doubts uint32
	switch {
	case t == AVX512 && r.random:
		doubts = asm.RandomRoundAVX512(symbols, x, uint32(u.First), u.Key.K0, u.Key.K1, &r.words, doubt)
	case t == AVX512:
		doubts = asm.FixedRoundAVX512(symbols, x, &r.words, doubt)
	case r.random:
		doubts = asm.RandomRoundAVX2(symbols, x, uint32(u.First), u.Key.K0, u.Key.K1, &r.words, doubt)
	default:
		doubts = asm.FixedRoundAVX2(symbols, x, &r.words, doubt)
	}
	return n, doubts != 0
}
