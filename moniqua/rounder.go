package moniqua

import (
	"math"
	"math/bits"
)

// The loops below work on blocks that fit in the first-level cache, without division. anyPath computes with them. The
// other paths use them where the lanes of package kernel cannot do the work.

// blockLen bounds the coordinates of one block.
const blockLen = 1024

// A rounder maps coordinates to integers of the grid: to the indices of plain, or to the low ends of its decode
// windows.
//
// It computes a block in fixed point. Adding bias = 2³⁴ + 2³³ to a number below 2³³ in magnitude gives a float64 in
// [2³⁴, 2³⁵). Its mantissa is that number with 18 fractional bits. With 1/D for the division, its own roundings and the
// truncated u, the number is off by less than 2 units of 2⁻¹⁸. The float64 expression of plain is off by less than 1.
// So both have the same floor where the fraction is at least guard = 8 units away from an integer. The rounder leaves
// the other coordinates, about one in 16,000, and those out of range to plain.
type rounder struct {
	plain
	origin int     // coordinate of the model with which x begins
	scale  float64 // 1/D, rounded
	shift  float64 // added to x/D besides random u
	half   float64 // N/2 for windows, else 0
	window bool
	random bool
}

// newRounder returns the rounder to the indices of p, or to its windows.
func newRounder(p plain, window bool) rounder {
	r := rounder{plain: p, scale: 1 / p.step, window: window, random: p.rounding != Nearest}
	switch {
	case window:
		r.random, r.half = p.rounding == Dither, float64(p.levels)/2
		if r.random {
			r.shift = -0.5
		}
	case p.rounding == Nearest:
		r.shift = 0.5
	}
	return r
}

const (
	fraction = 18
	guard    = 8
	bias     = 3 << 33
	exponent = 1023 + 34                       // of the float64 in [2³⁴, 2³⁵)
	origin   = exponent<<(52-fraction) + 1<<33 // of the number 0, without its fraction
	indexEnd = 1 << 33                         // bound on the magnitudes rounded
)

// round writes the integers of x to dst, which is at least as long as x. The coordinate of x[0] is origin + first. It
// returns the position of the first value that is not finite or beyond ±2³³, or −1.
//
// The loops of roundFixed and roundRandom stop at a coordinate that is left to plain. Without a call in them they keep
// all their variables in registers.
func (r *rounder) round(dst []int64, x []float32, first int) int {
	base := bias + (r.shift - r.half)
	if r.window {
		base++ // ⌈z⌉ = ⌊z⌋ + 1 off the integers
	}
	for at := 0; at < len(x); at++ {
		if r.random {
			at += r.roundRandom(dst[at:], x[at:], first+at, base)
		} else {
			at += r.roundFixed(dst[at:], x[at:], base)
		}
		if at == len(x) {
			break
		}
		exact := r.exact(x[at], first+at)
		if !(math.Abs(exact) < indexEnd) {
			return at
		}
		dst[at] = int64(exact)
	}
	return -1
}

// roundFixed returns the number of coordinates that it rounded before one that it leaves to plain.
func (r *rounder) roundFixed(dst []int64, x []float32, base float64) int {
	scale := r.scale
	dst = dst[:len(x)]
	for i, v := range x {
		word := math.Float64bits(float64(float64(v)*scale) + base)
		if word>>52 != exponent || (word+guard)&(1<<fraction-1) < 2*guard {
			return i
		}
		dst[i] = int64(word>>fraction) - origin
	}
	return len(x)
}

// roundRandom is roundFixed with u from key. The fixed-point number takes the upper 18 of the 24 bits of u.
func (r *rounder) roundRandom(dst []int64, x []float32, first int, base float64) int {
	scale, key := r.scale, r.key
	first += r.origin
	dst = dst[:len(x)]
	for i, v := range x {
		raw := key.Raw(uint32(first + i))
		word := math.Float64bits(float64(float64(v)*scale)+base) + uint64(raw>>(32-fraction))
		if word>>52 != exponent || (word+guard)&(1<<fraction-1) < 2*guard {
			return i
		}
		dst[i] = int64(word>>fraction) - origin
	}
	return len(x)
}

// exact returns the integer of coordinate origin + c, whose value is v, by the formulas of plain.go.
func (r *rounder) exact(v float32, c int) float64 {
	c += r.origin
	if r.window {
		return r.low(v, c)
	}
	return r.index(v, c)
}

// A divisor computes residues modulo N without division.
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
// With z = k + offset < 2³⁶ and inverse·N = 2⁶⁴ + e, e < N ≤ 2¹⁶, the low word of inverse·z is (z mod N)·2⁶⁴/N + z·e/N.
// N times it has the high word z mod N, because z·e < 2⁶⁴ (Lemire, Kaser and Kurz, "Faster remainder by direct
// computation", 2019).
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

// place turns symbols into their places 0..N−1 in the decode windows that begin at the residues low. The index of a
// symbol is the window's low end plus its place.
func place(dst, symbols, low []uint16, levels int32) {
	dst, low = dst[:len(symbols)], low[:len(symbols)]
	for i, s := range symbols {
		p := int32(s) - int32(low[i])
		dst[i] = uint16(p + levels&(p>>31))
	}
}
