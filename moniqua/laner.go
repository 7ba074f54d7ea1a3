package moniqua

import (
	"math"

	"gossiptrainer/internal/kernel"
)

// laneBlock is the largest number of coordinates that are packed at a time.
const laneBlock = 1 << 11

// hashLen is the number of coordinates that are rounded and hashed at a time. With fewer coordinates, more time goes to
// the ends of hash chains, which nothing overlaps.
const hashLen = 4 * blockLen

// A laner rounds in lanes where they can do it, else in fixed point.
type laner struct {
	*rounder
	width int // of residues
	tier  kernel.Tier
	q     *kernel.Quantizer // nil: the lanes cannot do these integers
}

// lanes prepares q for d integers of r, or their residues modulo 2^width, and returns it. It returns nil if the lanes
// cannot compute them.
func (r *rounder) lanes(q *kernel.Quantizer, output kernel.Output, width, d int) *kernel.Quantizer {
	l := kernel.Lattice{Step: r.step, Bits: width, Shift: r.shift}
	if r.window {
		l.Shift += 1 - r.half // ⌈z⌉ = ⌊z⌋ + 1 off the integers
	}
	if r.random {
		l.Noise = &r.key
	}
	if d < fewest || output == kernel.OfPacked && d < kernel.Step || !q.Set(l, output) {
		return nil
	}
	return q
}

// fewest is the number of coordinates below which preparing the lanes takes longer than computing without them.
const fewest = kernel.Step / 4

// residues writes the integers of x modulo 2^width to dst, of the same length, at most laneBlock. It returns the
// position of the first coordinate without an integer, or −1.
func (l *laner) residues(dst []byte, x []float32, first int) int {
	var doubt [laneBlock / 8]byte
	done, doubtful := 0, false
	if l.q != nil {
		done, doubtful = l.tier.Residues(dst, x, l.origin+first, l.q, doubt[:])
	}
	if doubtful {
		kernel.Doubtful(doubt[:done/8], func(at int) bool {
			dst[at] = byte(int64(l.exact(x[at], first+at))) & byte(1<<l.width-1)
			return true
		})
	}
	if l.tailResidues(dst[done:], x[done:], first+done) {
		return -1
	}
	for ; done < len(x); done += blockLen {
		end := min(done+blockLen, len(x))
		if at := l.residuesExactly(dst[done:end], x[done:end], first+done, l.width); at >= 0 {
			return done + at
		}
	}
	return -1
}

// tailResidues is tail for residues.
func (l *laner) tailResidues(dst []byte, x []float32, first int) bool {
	if !l.isTail(x) {
		return false
	}
	var (
		padded [kernel.Step]float32
		all    [kernel.Step]byte
		doubt  [kernel.Step / 8]byte
	)
	copy(padded[:], x)
	done, doubtful := l.tier.Residues(all[:], padded[:], l.origin+first, l.q, doubt[:])
	if done == 0 {
		return false
	}
	if doubtful {
		kernel.Doubtful(doubt[:], func(at int) bool {
			if at < len(x) {
				all[at] = byte(int64(l.exact(x[at], first+at))) & byte(1<<l.width-1)
			}
			return at < len(x)
		})
	}
	copy(dst[:len(x)], all[:])
	return true
}

// isTail reports whether x is a tail that the lanes may be able to compute.
func (l *laner) isTail(x []float32) bool { return l.q != nil && len(x) > 0 && len(x) < kernel.Step }

// residuesExactly is residues without lanes, for at most blockLen coordinates.
func (r *rounder) residuesExactly(dst []byte, x []float32, first, width int) int {
	var index [blockLen]int64
	if at := r.round(index[:len(x)], x, first); at >= 0 {
		return at
	}
	window, mask := r.window, byte(1<<width-1)
	dst = dst[:len(x)]
	for i, k := range index[:len(x)] {
		if !window && (k > math.MaxInt32 || k < -math.MaxInt32) {
			return i
		}
		dst[i] = byte(k) & mask
	}
	return -1
}

// integers writes the integers of x to dst, of the same length, at most blockLen. It returns the position of the first
// coordinate without an integer below 2³¹ in magnitude, or −1.
func (l *laner) integers(dst []int32, x []float32, first int) int {
	var doubt [blockLen / 8]byte
	done, doubtful := 0, false
	if l.q != nil {
		done, doubtful = l.tier.Indices(dst, x, l.origin+first, l.q, doubt[:])
	}
	if doubtful {
		kernel.Doubtful(doubt[:done/8], func(at int) bool {
			dst[at] = int32(l.exact(x[at], first+at))
			return true
		})
	}
	if l.tail(dst[done:], x[done:], first+done) {
		return -1
	}
	if at := l.integersExactly(dst[done:], x[done:], first+done); at >= 0 {
		return done + at
	}
	return -1
}

// tail is integers for fewer coordinates than the lanes take at once. It reports whether the lanes, filled up with
// zeros, could compute them. A small model is a tail to a large part.
func (l *laner) tail(dst []int32, x []float32, first int) bool {
	if !l.isTail(x) {
		return false
	}
	var (
		padded [kernel.Step]float32
		all    [kernel.Step]int32
		doubt  [kernel.Step / 8]byte
	)
	copy(padded[:], x)
	done, doubtful := l.tier.Indices(all[:], padded[:], l.origin+first, l.q, doubt[:])
	if done == 0 {
		return false
	}
	if doubtful {
		kernel.Doubtful(doubt[:], func(at int) bool {
			if at < len(x) {
				all[at] = int32(l.exact(x[at], first+at))
			}
			return at < len(x)
		})
	}
	copy(dst[:len(x)], all[:])
	return true
}

// hashed does the same as integers, for at most hashLen coordinates. It also writes their residues modulo 2^width to
// symbols and continues h with them.
func (l *laner) hashed(dst []int32, symbols []byte, x []float32, first int, h *kernel.Hash) int {
	var doubt [hashLen / 8]byte
	mask := byte(1<<l.width - 1)
	for at := 0; at < len(x); {
		done, hashed := 0, 0
		if l.q != nil {
			to := kernel.Hashed{Indices: dst[at:], Symbols: symbols[at:], Mask: mask, Doubt: doubt[:], Hash: h}
			done, hashed = l.tier.HashedIndices(to, x[at:], l.origin+first+at, l.q)
		}
		kernel.Doubtful(doubt[hashed/8:done/8], func(i int) bool {
			i += at + hashed
			dst[i] = int32(l.exact(x[i], first+i))
			symbols[i] = byte(dst[i]) & mask
			return true
		})
		end := at + done
		if done == 0 {
			end = min(at+blockLen, len(x))
			if !l.tail(dst[at:end], x[at:end], first+at) {
				if bad := l.integersExactly(dst[at:end], x[at:end], first+at); bad >= 0 {
					return at + bad
				}
			}
			l.tier.Narrow(symbols[at:end], dst[at:end], 0, 0, mask)
		}
		l.tier.Hash(h, dst[at+hashed:end])
		at = end
	}
	return -1
}

// integersExactly is integers without lanes.
func (r *rounder) integersExactly(dst []int32, x []float32, first int) int {
	if len(x) == 0 {
		return -1
	}
	var index [blockLen]int64
	if at := r.round(index[:len(x)], x, first); at >= 0 {
		return at
	}
	for i, k := range index[:len(x)] {
		if k > math.MaxInt32 || k < -math.MaxInt32 {
			return i
		}
		dst[i] = int32(k)
	}
	return -1
}

// A packer writes residues in the form of a payload. The lanes pack symbols of 1, 2 or 4 bits directly, unless
// coordinates are very large beside the modulus. All other symbols are first written as bytes.
type packer struct {
	*rounder
	width       int
	tier        kernel.Tier
	bits, bytes kernel.Quantizer
	packs, does bool // whether the lanes can write packed symbols, and bytes
}

// packer returns the packer of r for d coordinates and symbols of width bits.
func (r *rounder) packer(width, d int, tier kernel.Tier) packer {
	p := packer{rounder: r, width: width, tier: tier}
	p.packs = r.lanes(&p.bits, kernel.OfPacked, width, d) != nil
	p.does = r.lanes(&p.bytes, kernel.OfResidues, width, d) != nil
	return p
}

// symbols writes the integers of x, at most laneBlock, modulo 2^width to dst, a byte each. It returns the position of
// the first coordinate without an integer, or −1.
func (p *packer) symbols(dst []byte, x []float32, first int) int {
	var q *kernel.Quantizer
	if p.does {
		q = &p.bytes
	}
	l := laner{p.rounder, p.width, p.tier, q}
	return l.residues(dst, x, first)
}

// pack writes the same symbols as a bit stream.
func (p *packer) pack(dst []byte, x []float32, first int) int {
	if p.width == 8 {
		return p.symbols(dst[:len(x)], x, first)
	}
	done := 0
	if p.packs {
		done = p.packLanes(dst, x, first)
	}
	if done == len(x) {
		return -1
	}
	if at := p.overBytes(dst[done/8*p.width:], x[done:], first+done); at >= 0 {
		return done + at
	}
	return -1
}

// packLanes packs as many coordinates as the lanes can, a multiple of kernel.Step.
func (p *packer) packLanes(dst []byte, x []float32, first int) int {
	var doubt [laneBlock / 8]byte
	done, doubtful := p.tier.Packed(dst, x, p.origin+first, &p.bits, doubt[:])
	if doubtful {
		kernel.Doubtful(doubt[:done/8], func(at int) bool {
			symbol := byte(int64(p.exact(x[at], first+at))) & p.mask()
			bit := at * p.width
			dst[bit/8] = dst[bit/8]&^(p.mask()<<(bit%8)) | symbol<<(bit%8)
			return true
		})
	}
	return done
}

func (p *packer) mask() byte { return byte(1<<p.width - 1) }

// overBytes packs all of x by way of bytes.
func (p *packer) overBytes(dst []byte, x []float32, first int) int {
	var symbols [laneBlock]byte
	at := p.symbols(symbols[:len(x)], x, first)
	if at < 0 {
		p.tier.Pack(dst, p.width, symbols[:len(x)])
	}
	return at
}
