package kernel

import (
	"encoding/binary"
	"math"
	"math/bits"

	"gossiptrainer/internal/rng"
)

// A Quantizer rounds float32 coordinates to integers of a lattice with step D,
// for N = 2^b symbols, b = 1 to 8:
//
//	k = ⌊x/D + c⌋, c = Shift, + u(index of x) with Noise
//
// and gives either k or its residue modulo N as a byte. The definition is
// float64 arithmetic; the lanes use 32 bits and say where those do not suffice.
//
// With B = D·N, and x/B split into the nearest integer q and a rest,
//
//	w = fma(x, 1/B, 3·2²²)          q in the mantissa of w: |x/B| < 2²² or w's exponent tells
//	r = x·(1/B) − q                 by two more fma, with 1/B as a sum of two float32
//	T = 2³¹·r + (c + u)·2³¹/N       integers modulo 2³¹
//
// so the top b bits of T are the residue of k, and the 31−b below them the
// fraction. All is scaled by 2³¹: B·2⁻³¹ is the unit of r. Rounding r twice,
// cutting 1/B to 48 bits and the roundings of the definition itself move T by
// less than 133 units. u lacks its last step, which changes it by less than
// 2⁻¹⁶. So where the fraction is 2⁻¹⁴ or more away from an integer, which is 512
// units at 8 bits, both floors are the same. The others, one in 8,192, are
// doubtful and left to the caller. Indices are computed at the scale 2³⁰, which
// leaves room for a carry: k = N·q + T/2^(30−b).
type Quantizer struct {
	words  [201]uint32
	output Output
	random bool
}

// An Output says what a Quantizer gives.
type Output uint8

// The outputs.
const (
	OfResidues Output = iota // k mod N, as bytes
	OfIndices                // k, as int32
)

// A Lattice says what a Quantizer rounds to.
type Lattice struct {
	Step  float64  // D > 0
	Bits  int      // b, 1 to 8
	Shift float64  // c, a multiple of 1/2 from −N/2 to 1
	Noise *rng.Key // of u, or nil: no noise
}

const (
	// Step is the number of coordinates that a quantizer does at a time: it
	// begins at a multiple of it and does whole ones.
	Step  = 128
	guard = 14 // a fraction is doubtful within 2^−guard of an integer
)

// Set prepares q for one output of a lattice and reports whether the lanes can do
// it: they need a lattice as described, and a step far from the ends of float32's
// range.
func (q *Quantizer) Set(l Lattice, output Output) bool {
	modulus := l.Step * float64(uint(1)<<l.Bits)
	if l.Bits < 1 || l.Bits > 8 || !(modulus > 0x1p-60 && modulus < 0x1p60) || l.Shift > 1 || l.Shift < -float64(uint(1)<<l.Bits)/2 {
		return false
	}
	q.output, q.random = output, l.Noise != nil
	if output == OfIndices {
		q.set(l, 1/modulus, 30, uint32(l.Bits))
	} else {
		q.set(l, 1/modulus, 31, uint32(1)<<l.Bits-1)
	}
	return true
}

// set fills the constants of one scale, in the order that the assembly expects;
// own is the one that residues and indices use in their ways.
func (q *Quantizer) set(l Lattice, inverse float64, scale int, own uint32) {
	inverse *= float64(uint64(1) << scale)
	high := float32(inverse)
	low := float32(inverse - float64(high))
	rest := scale - l.Bits // fractional bits of T
	units := uint32(1) << (rest - guard)
	shift := uint32(int64(l.Shift*float64(uint64(1)<<rest))) + units
	test := uint32(1)<<rest - 2*units
	constants := [...]uint32{
		math.Float32bits(high), math.Float32bits(low), math.Float32bits(float32(3 << 22 * float64(uint64(1)<<scale))),
		shift, test, own, uint32(rest), uint32(32 - rest), 0,
	}
	if l.Noise != nil {
		constants[8] = l.Noise.K1
		for i := range uint32(Step) {
			q.words[72+i] = (i ^ l.Noise.K0&(Step-1)) * 0x9E3779B1
		}
		q.words[200] = l.Noise.K0 &^ (Step - 1)
	}
	for i, v := range constants {
		for lane := range 8 {
			q.words[8*i+lane] = v
		}
	}
}

// Residues writes the residues modulo N of x, whose first coordinate has the
// index first, a multiple of Step. It returns how many it did, a multiple of
// Step, and sets the bits in doubt of those it is not certain of; doubtful is
// false if there are none. It does nothing if x is shorter than Step, has a
// coordinate of 2²²·N steps or more, or one that is no number, and in Off. q is
// set for residues.
func (t Tier) Residues(dst []byte, x []float32, first int, q *Quantizer, doubt []byte) (done int, doubtful bool) {
	n := min(len(x), 8*len(doubt)) &^ (Step - 1)
	if t == Off || n == 0 || first%Step != 0 || q.output != OfResidues {
		return 0, false
	}
	dst, x = dst[:n], x[:n]
	var doubts, outside uint32
	switch {
	case t == AVX512 && q.random:
		doubts, outside = randomResiduesAVX512(dst, x, uint32(first), &q.words, doubt)
	case t == AVX512:
		doubts, outside = fixedResiduesAVX512(dst, x, uint32(first), &q.words, doubt)
	case q.random:
		doubts, outside = randomResiduesAVX2(dst, x, uint32(first), &q.words, doubt)
	default:
		doubts, outside = fixedResiduesAVX2(dst, x, uint32(first), &q.words, doubt)
	}
	if outside != 0 {
		return 0, false
	}
	return n, doubts != 0
}

// Bits is Residues for one-bit symbols, of which it writes eight to a byte, least
// significant bit first.
func (t Tier) Bits(dst []byte, x []float32, first int, q *Quantizer, doubt []byte) (done int, doubtful bool) {
	n := min(len(x), 8*len(doubt)) &^ (Step - 1)
	if t == Off || n == 0 || first%Step != 0 || q.output != OfResidues {
		return 0, false
	}
	dst, x = dst[:n/8], x[:n]
	var doubts, outside uint32
	switch {
	case t == AVX512 && q.random:
		doubts, outside = randomBitsAVX512(dst, x, uint32(first), &q.words, doubt)
	case t == AVX512:
		doubts, outside = fixedBitsAVX512(dst, x, uint32(first), &q.words, doubt)
	case q.random:
		doubts, outside = randomBitsAVX2(dst, x, uint32(first), &q.words, doubt)
	default:
		doubts, outside = fixedBitsAVX2(dst, x, uint32(first), &q.words, doubt)
	}
	if outside != 0 {
		return 0, false
	}
	return n, doubts != 0
}

// Indices is Residues for the integers themselves, which are below 2³¹. q is set
// for indices.
func (t Tier) Indices(dst []int32, x []float32, first int, q *Quantizer, doubt []byte) (done int, doubtful bool) {
	n := min(len(x), 8*len(doubt)) &^ (Step - 1)
	if t == Off || n == 0 || first%Step != 0 || q.output != OfIndices {
		return 0, false
	}
	dst, x = dst[:n], x[:n]
	var doubts, outside uint32
	switch {
	case t == AVX512 && q.random:
		doubts, outside = randomIndicesAVX512(dst, x, uint32(first), &q.words, doubt)
	case t == AVX512:
		doubts, outside = fixedIndicesAVX512(dst, x, uint32(first), &q.words, doubt)
	case q.random:
		doubts, outside = randomIndicesAVX2(dst, x, uint32(first), &q.words, doubt)
	default:
		doubts, outside = fixedIndicesAVX2(dst, x, uint32(first), &q.words, doubt)
	}
	if outside != 0 {
		return 0, false
	}
	return n, doubts != 0
}

// HashedIndices is Indices that also writes the lower bits of the indices, those
// in mask, to symbols, and continues h with the indices. It may end early, behind
// doubtful ones: from hashed on nothing has been entered in h.
func (t Tier) HashedIndices(dst []int32, symbols []byte, x []float32, first int, q *Quantizer, mask byte, doubt []byte, h *Hash) (done, hashed int) {
	n := min(len(x), 8*len(doubt)) &^ (Step - 1)
	if t != AVX512 || n == 0 || first%Step != 0 || q.output != OfIndices || h.count%stripe != 0 {
		done, doubtful := t.Indices(dst, x, first, q, doubt)
		t.Narrow(symbols[:done], dst[:done], 0, 0, mask)
		if !doubtful {
			t.Hash(h, dst[:done])
			hashed = done
		}
		return done, hashed
	}
	var (
		doubts, outside uint32
		left            int
		lanes           = h.lanes
		products        [Step / 2]uint64
	)
	if q.random {
		left, doubts, outside = randomHashedAVX512(dst[:n], symbols[:n], x[:n], uint32(first), &q.words, uint32(mask), doubt, &lanes, &products)
	} else {
		left, doubts, outside = fixedHashedAVX512(dst[:n], symbols[:n], x[:n], uint32(first), &q.words, uint32(mask), doubt, &lanes, &products)
	}
	if outside != 0 {
		return 0, 0
	}
	done, hashed = n-left, n-left
	if doubts != 0 {
		done += Step
	}
	h.lanes, h.count = lanes, h.count+hashed
	return done, hashed
}

// Doubtful calls each for the positions whose bits are set in doubt, which is a
// multiple of 8 long, until it returns false.
func Doubtful(doubt []byte, each func(at int) bool) {
	for at := 0; at < 8*len(doubt); at += 64 {
		for word := binary.LittleEndian.Uint64(doubt[at/8:]); word != 0; word &= word - 1 {
			if !each(at + bits.TrailingZeros64(word)) {
				return
			}
		}
	}
}
