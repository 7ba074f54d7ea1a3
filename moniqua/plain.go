package moniqua

import (
	"math"

	"gossiptrainer/internal/kernel"
	"gossiptrainer/internal/rng"
)

// This file has the codec of docs/math.md#the-integer-form and docs/math.md#mixing in its plainest form: one loop per
// operation, in float64 and integers. Only the sums of mix are float32, because that section fixes their bits.
//
// Every path gives the same symbols, indices and sums, faster; tests compare it with this file. If the arithmetic of a
// path is not certain of a coordinate, the path also takes its integer from here.

// plain is the codec in one round.
type plain struct {
	step     float64 // D
	levels   int     // N
	rounding Rounding
	key      rng.Key // of u
}

// u returns the rounding noise of coordinate c, in [0, 1).
func (p *plain) u(c int) float64 {
	if p.rounding == Nearest {
		return 0.5
	}
	return float64(p.key.Uniform(uint32(c)))
}

// index returns κ = ⌊x/D + u⌋ of coordinate c, not finite if x is not.
func (p *plain) index(x float32, c int) float64 {
	return math.Floor(float64(x)/p.step + p.u(c))
}

// low returns ⌈t − N/2⌉, the least integer in the decode window of coordinate c:
// t = y/D + u − 1/2 with Dither and y/D otherwise.
func (p *plain) low(y float32, c int) float64 {
	shift := 0.0
	if p.rounding == Dither {
		shift = p.u(c) - 0.5
	}
	return math.Ceil(float64(y)/p.step + shift - float64(p.levels)/2)
}

// residue returns k mod N, 0 to N − 1 for negative k too.
func (p *plain) residue(k int64) int64 {
	n := int64(p.levels)
	return (k%n + n) % n
}

// encode writes the indices κ of x and their symbols s = κ mod N. It returns the first coordinate without an index,
// because it is not finite or the index reaches ±2³¹, or −1.
func (p *plain) encode(indices []int64, symbols []uint16, x []float32) int {
	for c, v := range x {
		k := p.index(v, c)
		if !(math.Abs(k) <= math.MaxInt32) {
			return c
		}
		indices[c], symbols[c] = int64(k), uint16(p.residue(int64(k)))
	}
	return -1
}

// decode writes the indices κ' of symbols for a receiver with model y. Each is the one integer of the window [t − N/2,
// t + N/2) that has the symbol. The model y is within 2³² steps of 0.
func (p *plain) decode(indices []int64, symbols []uint16, y []float32) {
	for c, s := range symbols {
		low := int64(p.low(y[c], c))
		indices[c] = low + p.residue(int64(s)-low)
	}
}

// quotient returns m = (κ − s)/N, the content of a repair: κ = N·m + s.
func (p *plain) quotient(k int64) int32 { return int32((k - p.residue(k)) / int64(p.levels)) }

// mix adds D·Σ_j w_j·(κ'_j − κ_i) to acc, the neighbours in order. It returns the largest |κ'_j − κ_i|, at most 2³¹ −
// 1, and the number of coordinates with a difference.
func (p *plain) mix(acc []float32, own []int64, theirs [][]int64, weights []float32) (largest int64, moved int) {
	for c := range acc {
		sum, peak := float32(0), int64(0)
		for j, k := range theirs {
			difference := k[c] - own[c]
			sum += float32(p.scale(weights[j]) * float32(difference))
			peak = min(max(peak, difference, -difference), math.MaxInt32)
		}
		acc[c] += sum
		if largest = max(largest, peak); peak > 0 {
			moved++
		}
	}
	return largest, moved
}

// scale returns w·D as a float32: with equal weights the two ends of an edge add exact negatives.
func (p *plain) scale(weight float32) float32 { return float32(float64(weight) * p.step) }

// hash returns the hash of indices that ends a verified message.
func (p *plain) hash(indices []int64) uint64 {
	var h kernel.Hash
	h.Reset()
	for _, k := range indices {
		number := int32(math.MinInt32) // a number that no sender has, because the models are far apart
		if int64(int32(k)) == k {
			number = int32(k)
		}
		kernel.Off.Hash(&h, []int32{number})
	}
	return h.Sum()
}
