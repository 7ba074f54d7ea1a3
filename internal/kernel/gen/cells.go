package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The places of the words of Cells, in bytes: tables of 256, and words eight times.
const (
	cStarts  = 0
	cFactors = 1024 * iota
	cLow
	cMask
	cFlip   = cMask + 32
	cMirror = cMask + 64
	cGuard  = cMask + 96
	cLower  = cMask + 128
	cUpper  = cMask + 160
)

// Predicates of VCMPPS and of VPCMPD.
const (
	greaterEqual = operand.U8(13)
	integerLess  = operand.U8(1)
)

// cells writes the rounding to a table of each tier, see Cells.
func cells(c *build.Context) {
	for _, w := range widths(c, "cells") {
		for _, steps := range []int{0, 2, 3, 4, 5, 6, 7, 8} {
			(&drawer{symbols: symbols{width: w}, steps: steps}).write(fmt.Sprintf("draw%d", 1<<steps))
		}
	}
}

// A drawer writes one function. A search is a chain of look-ups that wait for each
// other, so with AVX-512 those of four vectors go side by side.
type drawer struct {
	symbols
	steps int // halvings: 2^steps cells at most

	words  operand.Mem
	stream stream
	scale  operand.Op
	middle reg.VecVirtual // where the upper half of the cells starts
	upper  reg.VecVirtual // AVX2: lanes where step 3 went up
	rests  []reg.VecVirtual
}

func (z *drawer) write(name string) {
	function(z.Context, name+z.tier, "func(symbols []byte, x []float32, first, k0, k1 uint32, words *[848]uint32, doubt []byte) (doubts uint32)",
		"rounds len(x) coordinates, a multiple of 64.")
	r := z.GP64()
	z.Load(z.Param("words"), r)
	z.words = operand.Mem{Base: r}
	z.begin()
	z.stream = z.newStream()
	z.scale = z.stream.word("scale", map[bool]uint32{false: 0x33800000, true: 0x2F800000}[z.wide]) // 2⁻²⁴, 2⁻³²
	if z.steps > 0 {
		z.middle = z.vector()
		z.VBROADCASTSS(z.words.Offset(cStarts+4), z.middle)
	}
	z.flip = z.everywhereAt(cFlip)
	together := 1
	if z.wide {
		together = 4
	}
	z.each(together, z.draw, z.number)
}

// draw finds the cells of vectors, with their bits in reversed order, and keeps
// p − u of each.
func (z *drawer) draw(x []operand.Mem) (j []reg.VecVirtual, doubt []reg.Register) {
	v := make([]reg.VecVirtual, len(x))
	mask := z.everywhereAt(cMask)
	for i := range x {
		v[i] = z.vector()
		z.load(x[i], v[i])
		z.and(mask, v[i], v[i])
	}
	j = z.search(v)
	some := 2
	if z.steps == 8 {
		some = 1 // there are few masks
	}
	for i := 0; i < len(x); i += some {
		end := min(i+some, len(x))
		doubt = append(doubt, z.rest(x[i:end], v[i:end], j[i:end])...)
	}
	return j, doubt
}

// everywhereAt returns one of the words in all lanes.
func (z *drawer) everywhereAt(at int) operand.Op {
	if !z.wide {
		return z.words.Offset(at)
	}
	v := z.vector()
	z.VBROADCASTSS(z.words.Offset(at), v)
	return v
}

// search returns the cells of v. A step sets the bit of its number.
func (z *drawer) search(v []reg.VecVirtual) []reg.VecVirtual {
	j := make([]reg.VecVirtual, len(v))
	for i := range j {
		j[i] = z.vector()
		if z.steps == 0 {
			z.clear(j[i])
		}
	}
	for s := range z.steps {
		some := len(v)
		if s > 6 {
			some = 2
		}
		for i := 0; i < len(v); i += some {
			end := min(i+some, len(v))
			start := z.find(cStarts+4<<s, s, j[i:end], z.uppers(s, j[i:end]))
			for k := range start {
				z.climb(s, v[i+k], start[k], j[i+k])
			}
		}
	}
	return j
}

// climb sets the bit of step s where v is at least start.
func (z *drawer) climb(s int, v, start, j reg.VecVirtual) {
	bit := z.bit(s)
	if z.wide {
		k := z.K()
		z.VCMPPS(greaterEqual, start, v, k)
		if s == 0 {
			z.VPBROADCASTD_Z(bit, k, j)
		} else {
			z.VPORD_BCST(bit, j, k, j)
		}
		return
	}
	up := z.vector()
	z.VCMPPS(greaterEqual, start, v, up)
	if s == 0 {
		z.VPAND(bit, up, j)
		return
	}
	set := z.vector()
	z.VPAND(bit, up, set)
	z.VPOR(set, j, j)
	z.upper = up
}

// bit returns the bit of step s.
func (z *drawer) bit(s int) operand.Mem { return z.same(fmt.Sprintf("step%d", s), 1<<s) }

// find looks up one of the 2^bits floats at a place of the words for each of index.
func (z *drawer) find(at, bits int, index []reg.VecVirtual, upper [][]reg.Register) []reg.VecVirtual {
	found := make([]reg.VecVirtual, len(index))
	words := z.words.Offset(at)
	if bits == 0 {
		only := z.middle
		if z.steps == 0 {
			only = z.vector()
			z.VBROADCASTSS(words, only)
		}
		for i := range found {
			found[i] = only
		}
		return found
	}
	if z.wide {
		return z.among(words, bits, index, upper)
	}
	for i := range found {
		found[i] = z.gather(words, bits, index[i])
	}
	return found
}

// uppers returns which of index have the bits from the sixth on.
func (z *drawer) uppers(bits int, index []reg.VecVirtual) (upper [][]reg.Register) {
	for b := 5; z.wide && b < bits; b++ {
		masks := make([]reg.Register, len(index))
		for i := range index {
			k := z.K()
			z.VPTESTMD_BCST(z.bit(b), index[i], k)
			masks[i] = k
		}
		upper = append(upper, masks)
	}
	return upper
}

// among is find in registers of 16 floats. 5 bits of the index say where in two of
// them, each further one chooses between halves.
func (z *drawer) among(words operand.Mem, bits int, index []reg.VecVirtual, upper [][]reg.Register) []reg.VecVirtual {
	if bits > 5 {
		found, above := z.among(words, bits-1, index, upper), z.among(words.Offset(2<<bits), bits-1, index, upper)
		for i := range index {
			z.VMOVAPS(above[i], upper[bits-6][i], found[i])
		}
		return found
	}
	found, first, second := make([]reg.VecVirtual, len(index)), z.vector(), z.vector()
	z.VMOVUPS(words, first)
	if bits == 5 {
		z.VMOVUPS(words.Offset(64), second)
	}
	for i := range index {
		found[i] = z.vector()
		if bits == 5 {
			z.VMOVDQA32(index[i], found[i])
			z.VPERMI2PS(second, first, found[i])
		} else {
			z.VPERMPS(first, index[i], found[i])
		}
	}
	return found
}

// gather is find with AVX2.
func (z *drawer) gather(words operand.Mem, bits int, index reg.VecVirtual) reg.VecVirtual {
	v := z.vector()
	if bits <= 4 {
		z.VPERMPS(words, index, v)
	}
	if bits == 4 {
		above := z.vector()
		z.VPERMPS(words.Offset(32), index, above)
		z.VBLENDVPS(z.upper, above, v, v)
	}
	if bits > 4 {
		all := z.vector()
		z.load(z.same("all", 0xFFFFFFFF), all)
		z.clear(v)
		words.Index, words.Scale = index, 4
		z.VGATHERDPS(all, words, v)
	}
	return v
}

// rest makes v p − u, and returns where that is too little to be certain of.
func (z *drawer) rest(x []operand.Mem, v, j []reg.VecVirtual) (doubt []reg.Register) {
	upper := z.uppers(z.steps, j)
	factors := z.find(cFactors, z.steps, j, upper)
	low := z.find(cLow, z.steps, j, upper)
	for i := range v {
		z.VFMSUB132PS(factors[i], low[i], v[i])
	}
	u := z.stream.raw(len(x))
	mirror, guard := z.everywhereAt(cMirror), z.everywhereAt(cGuard)
	for i := range u {
		z.turn(x[i], mirror, u[i])
	}
	for i := range u {
		z.VFNMADD231PS(z.scale, u[i], v[i])
	}
	for i := range v {
		twice := u[i]
		z.VPADDD(v[i], v[i], twice) // without the sign
		if z.wide {
			k := z.K()
			z.VPCMPD(integerLess, guard, twice, k)
			doubt = append(doubt, k)
			continue
		}
		near := z.vector()
		z.load(guard, near)
		z.VPCMPGTD(twice, near, near)
		doubt = append(doubt, near)
	}
	for i := range v {
		if len(z.rests)%2 == 1 {
			last := z.rests[len(z.rests)-1]
			z.VPACKSSDW(v[i], last, last) // saturation keeps signs
		}
		z.rests = append(z.rests, v[i])
	}
	return doubt
}

// turn makes raw numbers u floats: with mirror 1 − u for a negative x.
func (z *drawer) turn(x operand.Mem, mirror operand.Op, u reg.VecVirtual) {
	negative := z.vector()
	if z.wide {
		z.VPSRAD(operand.U8(31), x, negative)
		z.VPTERNLOGD(operand.U8(0x78), mirror, negative, u) // u ^ negative & mirror
		z.VCVTUDQ2PS(u, u)
		return
	}
	z.load(x, negative)
	z.VPSRAD(operand.U8(31), negative, negative)
	z.VPAND(mirror, negative, negative)
	z.VPXOR(negative, u, u)
	z.VPSRLD(operand.U8(8), u, u)
	z.VCVTDQ2PS(u, u)
}

// number makes symbols of cells: their bits in order, and one more where u < p.
func (z *drawer) number(cells reg.VecVirtual) {
	if z.steps > 4 {
		upper := z.vector()
		z.VPSRLW(operand.U8(4), cells, upper)
		z.lowerBits(upper)
		z.lowerBits(cells)
		z.VPSHUFB(upper, z.bytesAt(cUpper), upper)
		z.VPSHUFB(cells, z.bytesAt(cLower), cells)
		z.VPADDB(upper, cells, cells)
	} else {
		z.VPSHUFB(cells, z.bytesAt(cLower), cells)
	}
	p := z.rests
	z.rests = nil
	z.VPACKSSWB(p[2], p[0], p[0])
	if z.wide {
		k := z.K()
		z.VPMOVB2M(p[0], k)
		z.VPMOVM2B(k, p[0])
	} else {
		z.VPCMPGTB(p[0], z.zero, p[0])
	}
	z.VPADDB(p[0], cells, cells)
}

// lowerBits leaves four bits of all bytes.
func (z *drawer) lowerBits(v reg.VecVirtual) {
	four := z.same("four", 0x0F0F0F0F)
	if z.wide {
		z.VPANDD_BCST(four, v, v)
	} else {
		z.VPAND(four, v, v)
	}
}

// bytesAt loads one of 16 bytes for each nibble.
func (z *drawer) bytesAt(at int) reg.VecVirtual {
	v := z.vector()
	if z.wide {
		z.VBROADCASTI64X4(z.words.Offset(at), v)
	} else {
		z.VMOVDQU(z.words.Offset(at), v)
	}
	return v
}
