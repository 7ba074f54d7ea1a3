package kernel

import (
	"encoding/binary"
	"math"
	"math/bits"

	"gossiptrainer/internal/kernel/asm"
	"gossiptrainer/internal/rng"
)

// A Quantizer rounds float32 coordinates to integers of a lattice with step D,
// for N = 2^b symbols, b = 1 to 8:
//
//	k = ⌊x/D + c⌋, c = Shift, + u(index of x) with Noise
//
// and returns either k or its residue modulo N. The definition uses float64; the lanes use 32 bits and
// report the coordinates for which those do not suffice.
//
// With B = D·N, and x/B split into the nearest integer q and a rest,
//
//	w = fma(x, 2⁻²²/B, 3)           q in the mantissa of w: |x/B| < 2²² or w's exponent tells
//	e = x·2ˢ/B − q·2ˢ               by two more fma, with 1/B as a sum of two float32
//	T = e + (c + u)·2ˢ/N            integers modulo 2ˢ
//
// so the b bits of T below 2ˢ are the residue of k, and those below them the fraction: 16 for
// residues, s = 16 + b. Several errors move T by less than 3/2: rounding e twice and to an integer,
// cutting 1/B to 48 bits, and the roundings of the definition. Also u lacks the bits below its 16. So
// both floors are equal unless the fraction is 0, 1, −1 or −2. Those, one in 16,384, are doubtful and
// left to the caller. For indices s is 30, which leaves room for a carry: k = N·q + T/2^(30−b); they
// are doubtful within 2⁻¹⁴.
//
// Residues to pack have few bits, so w suffices:
//
//	w = fma(x, 2⁻⁶/B, 3 + c·2⁻⁶/N)  T in the lower 16 bits of w's mantissa: |x/B| < 64
//
// Cutting 1/B to 24 bits and rounding w move T by less than 3/4. So the fractions 0 and −1 are
// doubtful, 2 of 2^(16−b).
type Quantizer struct {
	words  asm.QuantizerWords
	output Output
	width  int
	random bool
}

// An Output is the form of a Quantizer's results.
type Output uint8

// The outputs.
const (
	OfResidues Output = iota // k mod N, as bytes
	OfPacked                 // k mod N, as a bit stream
	OfIndices                // k, as int32
)

// A Lattice describes the integers of a Quantizer.
type Lattice struct {
	Step  float64  // D > 0
	Bits  int      // b, 1 to 8
	Shift float64  // c, a multiple of 1/2 from −N/2 to 1
	Noise *rng.Key // key of u; nil: no noise
}

// Step is the number of coordinates that a quantizer handles at a time: it begins at a multiple of
// Step and handles whole steps.
const Step = asm.Step

// Set prepares q for one output of a lattice and reports whether the lanes can do it. The lattice must
// be within the bounds of its fields, and its step far from the ends of float32's range. Packing needs
// 1, 2 or 4 bits.
func (q *Quantizer) Set(l Lattice, output Output) bool {
	modulus := l.Step * float64(uint(1)<<l.Bits)
	if l.Bits < 1 || l.Bits > 8 || !(modulus > 0x1p-60 && modulus < 0x1p60) || l.Shift > 1 ||
		l.Shift < -float64(uint(1)<<l.Bits)/2 {
		return false
	}
	if output == OfPacked && (l.Bits > 4 || odd(l.Bits)) {
		return false
	}
	q.output, q.width, q.random = output, l.Bits, l.Noise != nil
	s := precision{bits: 16 + l.Bits, first: 0x1p-22, near: 2, own: uint32(1)<<l.Bits - 1}
	switch output {
	case OfPacked:
		s = precision{bits: 16, first: 0x1p-6, near: 1}
	case OfIndices:
		s = precision{bits: 30, first: 0x1p-22, near: 1 << (30 - l.Bits - 14), own: uint32(l.Bits)}
	}
	q.set(l, s)
	return true
}

// A precision holds the numbers of a Quantizer for one output.
type precision struct {
	bits  int     // s
	first float64 // the scale of w
	near  uint32  // fractions are doubtful from −near to near − 1
	own   uint32  // residues and indices use it differently
}

// set fills the words that the assembly reads.
func (q *Quantizer) set(l Lattice, s precision) {
	inverse := 1 / (l.Step * float64(uint(1)<<l.Bits))
	high := float32(inverse)
	low := float32(inverse - float64(high))
	rest := s.bits - l.Bits // fractional bits of T
	shift := int64(l.Shift*float64(uint64(1)<<rest)) + int64(s.near)
	unit, magic := math.Exp2(float64(s.bits)), 3.0
	if q.output == OfPacked {
		magic += float64(shift) * 0x1p-22
	}
	float := func(v float64) uint32 { return math.Float32bits(float32(v)) }
	w := &q.words
	w.First, w.Magic = eight(float(float64(high)*s.first)), eight(float(magic))
	w.Units, w.Three = eight(float(0x1p22*unit)), eight(float(3*0x1p22*unit))
	w.High, w.Low = eight(float(float64(high)*unit)), eight(float(float64(low)*unit))
	w.Shift, w.Test, w.Own = eight(uint32(shift)), eight(uint32(1)<<rest-2*s.near), eight(s.own)
	w.Rest, w.Noise = eight(uint32(rest)), eight(uint32(32-rest))
	if l.Noise == nil {
		return
	}
	w.Key0, w.Key1 = l.Noise.K0&^(Step-1), eight(l.Noise.K1)
	for i := range w.Products {
		w.Products[i] = (uint32(i) ^ l.Noise.K0&(Step-1)) * 0x9E3779B1
	}
}

// eight returns a word for each lane of AVX2.
func eight(word uint32) [8]uint32 {
	return [8]uint32{word, word, word, word, word, word, word, word}
}

// Residues writes the residues modulo N of x, whose first coordinate has the index first, a multiple
// of Step. It returns how many it wrote, a multiple of Step. In doubt, which must be clear, it sets
// the bits of doubtful coordinates; doubtful is false if there are none. It does nothing in Off, or if
// x is shorter than Step. It also does nothing if a coordinate is 2²²·N steps or more, NaN or Inf. q
// must be set for residues.
func (t Tier) Residues(dst []byte, x []float32, first int, q *Quantizer, doubt []byte) (done int, doubtful bool) {
	n := min(len(x), 8*len(doubt)) &^ (Step - 1)
	if t == Off || n == 0 || first%Step != 0 || q.output != OfResidues {
		return 0, false
	}
	dst, x = dst[:n], x[:n]
	var doubts, outside uint32
	switch {
	case t == AVX512 && q.random:
		doubts, outside = asm.RandomResiduesAVX512(dst, x, uint32(first), &q.words, doubt)
	case t == AVX512:
		doubts, outside = asm.FixedResiduesAVX512(dst, x, uint32(first), &q.words, doubt)
	case q.random:
		doubts, outside = asm.RandomResiduesAVX2(dst, x, uint32(first), &q.words, doubt)
	default:
		doubts, outside = asm.FixedResiduesAVX2(dst, x, uint32(first), &q.words, doubt)
	}
	if outside != 0 {
		return 0, false
	}
	return n, doubts != 0
}

// Packed is Residues for symbols of 1, 2 or 4 bits, which it writes as Pack does, and for coordinates
// below 64·N steps. q must be set for packing. AVX2 supports one bit only.
func (t Tier) Packed(dst []byte, x []float32, first int, q *Quantizer, doubt []byte) (done int, doubtful bool) {
	n := min(len(x), 8*len(doubt)) &^ (Step - 1)
	if t == Off || n == 0 || first%Step != 0 || q.output != OfPacked || t == AVX2 && q.width > 1 {
		return 0, false
	}
	dst, x = dst[:n/8*q.width], x[:n]
	var doubts, outside uint32
	switch {
	case t == AVX2 && q.random:
		doubts, outside = asm.RandomPacked1AVX2(dst, x, uint32(first), &q.words, doubt)
	case t == AVX2:
		doubts, outside = asm.FixedPacked1AVX2(dst, x, uint32(first), &q.words, doubt)
	case q.random && q.width == 1:
		doubts, outside = asm.RandomPacked1AVX512(dst, x, uint32(first), &q.words, doubt)
	case q.random && q.width == 2:
		doubts, outside = asm.RandomPacked2AVX512(dst, x, uint32(first), &q.words, doubt)
	case q.random:
		doubts, outside = asm.RandomPacked4AVX512(dst, x, uint32(first), &q.words, doubt)
	case q.width == 1:
		doubts, outside = asm.FixedPacked1AVX512(dst, x, uint32(first), &q.words, doubt)
	case q.width == 2:
		doubts, outside = asm.FixedPacked2AVX512(dst, x, uint32(first), &q.words, doubt)
	default:
		doubts, outside = asm.FixedPacked4AVX512(dst, x, uint32(first), &q.words, doubt)
	}
	if outside != 0 {
		return 0, false
	}
	return n, doubts != 0
}

// Indices is Residues for the integers themselves, which are below 2³¹. q must be set for indices.
func (t Tier) Indices(dst []int32, x []float32, first int, q *Quantizer, doubt []byte) (done int, doubtful bool) {
	n := min(len(x), 8*len(doubt)) &^ (Step - 1)
	if t == Off || n == 0 || first%Step != 0 || q.output != OfIndices {
		return 0, false
	}
	dst, x = dst[:n], x[:n]
	var doubts, outside uint32
	switch {
	case t == AVX512 && q.random:
		doubts, outside = asm.RandomIndicesAVX512(dst, x, uint32(first), &q.words, doubt)
	case t == AVX512:
		doubts, outside = asm.FixedIndicesAVX512(dst, x, uint32(first), &q.words, doubt)
	case q.random:
		doubts, outside = asm.RandomIndicesAVX2(dst, x, uint32(first), &q.words, doubt)
	default:
		doubts, outside = asm.FixedIndicesAVX2(dst, x, uint32(first), &q.words, doubt)
	}
	if outside != 0 {
		return 0, false
	}
	return n, doubts != 0
}

// Hashed holds the outputs of HashedIndices.
type Hashed struct {
	Indices []int32
	Symbols []byte // the bits of the indices in Mask
	Mask    byte
	Doubt   []byte
	Hash    *Hash // continued with the indices
}

// HashedIndices is Indices, and also writes symbols and continues a hash. It may end early, after
// doubtful indices; the hash lacks the indices from hashed on.
func (t Tier) HashedIndices(to Hashed, x []float32, first int, q *Quantizer) (done, hashed int) {
	dst, symbols, mask, doubt, h := to.Indices, to.Symbols, to.Mask, to.Doubt, to.Hash
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
		left, doubts, outside = asm.RandomHashedAVX512(dst[:n], symbols[:n], x[:n], uint32(first), &q.words,
			uint32(mask), doubt, &lanes, &products)
	} else {
		left, doubts, outside = asm.FixedHashedAVX512(dst[:n], symbols[:n], x[:n], uint32(first), &q.words,
			uint32(mask), doubt, &lanes, &products)
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

// Doubtful calls each for the positions whose bits are set in doubt, until it returns false. The
// length of doubt must be a multiple of 8.
func Doubtful(doubt []byte, each func(at int) bool) {
	for at := 0; at < 8*len(doubt); at += 64 {
		for word := binary.LittleEndian.Uint64(doubt[at/8:]); word != 0; word &= word - 1 {
			if !each(at + bits.TrailingZeros64(word)) {
				return
			}
		}
	}
}
