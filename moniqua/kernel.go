package moniqua

import (
	"math"
	"math/bits"

	"gossiptrainer/internal/rng"
)

// The kernels below work on blocks that fit in the first-level cache. Each is
// a loop without calls that an assembly version can replace.

// blockLen bounds the coordinates of one block.
const blockLen = 1024

// A rounder maps coordinates to integers of the grid: either indices
// ⌊x/D + c⌋ or the low ends ⌈x/D + c − N/2⌉ of decode windows, with
// c = shift + u and u = 0 unless random.
//
// A block is computed in fixed point. Adding bias = 2³⁴ + 2³³ to a number below
// 2³³ in magnitude gives a float64 in [2³⁴, 2³⁵), whose mantissa is that number
// with 18 fractional bits. With 1/D for the division, its own roundings and the
// truncated u it is off by less than 2 units of 2⁻¹⁸, and the float64
// expression of the definition by less than 1. So where the fraction is at least
// guard = 8 units away from an integer both have the same floor; the other
// coordinates, about one in 16,000, and those out of range take the definition.
type rounder struct {
	step   float64 // D
	scale  float64 // 1/D, rounded
	shift  float64
	half   float64 // N/2 for windows
	window bool
	random bool
	key    rng.Key
}

const (
	fraction = 18
	guard    = 8
	bias     = 3 << 33
	exponent = 1023 + 34                       // of the float64 in [2³⁴, 2³⁵)
	origin   = exponent<<(52-fraction) + 1<<33 // of the number 0, without its fraction
	indexEnd = 1 << 33                         // bound on the magnitudes rounded
)

// round writes the integers of x to dst. first is the coordinate of x[0]. It
// returns the position of the first value that is not finite or beyond ±2³³, or
// −1. dst is at least as long as x.
func (r *rounder) round(dst []int64, x []float32, first int) int {
	dst = dst[:len(x)]
	scale, base := r.scale, bias+(r.shift-r.half)
	if r.window {
		base++ // ⌈z⌉ = ⌊z⌋ + 1 off the integers
	}
	if r.random {
		return r.roundRandom(dst, x, uint32(first), base)
	}
	for i, v := range x {
		word := math.Float64bits(float64(float64(v)*scale) + base)
		if word>>52 != exponent || (word+guard)&(1<<fraction-1) < 2*guard {
			exact := r.exact(v, 0)
			if !(math.Abs(exact) < indexEnd) {
				return i
			}
			dst[i] = int64(exact)
			continue
		}
		dst[i] = int64(word>>fraction) - origin
	}
	return -1
}

// roundRandom is round with u from key. u has 24 bits, of which the fixed-point
// number takes the upper 18.
func (r *rounder) roundRandom(dst []int64, x []float32, first uint32, base float64) int {
	scale, key := r.scale, r.key
	dst = dst[:len(x)]
	for i, v := range x {
		raw := key.Raw(first + uint32(i))
		word := math.Float64bits(float64(float64(v)*scale)+base) + uint64(raw>>(32-fraction))
		if word>>52 != exponent || (word+guard)&(1<<fraction-1) < 2*guard {
			exact := r.exact(v, float64(key.Uniform(first+uint32(i))))
			if !(math.Abs(exact) < indexEnd) {
				return i
			}
			dst[i] = int64(exact)
			continue
		}
		dst[i] = int64(word>>fraction) - origin
	}
	return -1
}

// exact is the definition of the integer of v.
func (r *rounder) exact(v float32, u float64) float64 {
	t := float64(v)/r.step + (r.shift + u)
	if r.window {
		return math.Ceil(t - r.half)
	}
	return math.Floor(t)
}

// A divisor takes residues modulo N without division.
type divisor struct {
	mask    uint64 // N − 1 if N is a power of two, else 0
	n       uint64
	offset  int64  // a multiple of N, ≥ 2³⁴
	inverse uint64 // ⌈2⁶⁴/N⌉
}

func newDivisor(levels int) divisor {
	n := uint64(levels)
	if n&(n-1) == 0 {
		return divisor{mask: n - 1}
	}
	return divisor{n: n, offset: int64((1<<34/n + 1) * n), inverse: ^uint64(0)/n + 1}
}

// residues writes k mod N, in 0..N−1 also for negative k, to dst: |k| ≤ 2³⁴.
//
// With z = k + offset < 2³⁶ and inverse·N = 2⁶⁴ + e, e < N ≤ 2¹⁶, the low word
// of inverse·z is (z mod N)·2⁶⁴/N + z·e/N, and N times it has the high word
// z mod N because z·e < 2⁶⁴ (Lemire, Kaser and Kurz, "Faster remainder by
// direct computation", 2019).
func (m *divisor) residues(dst []uint16, k []int64) {
	dst = dst[:len(k)]
	if mask := m.mask; mask != 0 {
		for i, v := range k {
			dst[i] = uint16(uint64(v) & mask)
		}
		return
	}
	n, offset, inverse := m.n, m.offset, m.inverse
	for i, v := range k {
		residue, _ := bits.Mul64(inverse*uint64(v+offset), n)
		dst[i] = uint16(residue)
	}
}

// place turns symbols into their places 0..N−1 in the decode windows that begin
// at the residues low: the index of a symbol is the window's low end plus its
// place.
func place(dst, symbols, low []uint16, levels int32) {
	dst, low = dst[:len(symbols)], low[:len(symbols)]
	for i, s := range symbols {
		p := int32(s) - int32(low[i])
		dst[i] = uint16(p + levels&(p>>31))
	}
}

// A mixing is what is summed over the neighbours, for one block.
type mixing struct {
	sum  [blockLen]float32 // Σ_j w_j·D·(k'_j − k_i)
	peak [blockLen]int32   // max_j |k'_j − k_i|
}

// add adds one neighbour's symbols: low are the residues of the windows' low
// ends, own the places of the worker's own indices. The increment is the float32
// product of scale = w·D and the index difference, so that for equal weights the
// two ends of an edge add exact negatives.
func (m *mixing) add(symbols, low, own []uint16, levels int32, scale float32) {
	n := len(symbols)
	low, own = low[:n], own[:n]
	sum, peak := m.sum[:n], m.peak[:n]
	for i, s := range symbols {
		p := int32(s) - int32(low[i])
		p += levels & (p >> 31)
		difference := p - int32(own[i])
		sum[i] += float32(scale * float32(difference))
		sign := difference >> 31
		peak[i] = max(peak[i], (difference^sign)-sign)
	}
}

// drain adds the sums to acc, clears the block, and returns the largest index
// difference and the number of coordinates that have one.
func (m *mixing) drain(acc []float32) (largest int32, moved int) {
	sum, peak := m.sum[:len(acc)], m.peak[:len(acc)]
	for i, s := range sum {
		acc[i] += s
		largest = max(largest, peak[i])
		moved += int(uint32(-peak[i]) >> 31)
	}
	clear(sum)
	clear(peak)
	return largest, moved
}
