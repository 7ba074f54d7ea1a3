package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// cells writes the rounding to a table of each tier, see Cells.
func cells(c *build.Context) {
	for _, w := range widths(c, "cells") {
		for _, steps := range []int{0, 2, 3, 4, 5, 6, 7, 8} {
			z := &drawer{symbols: symbols{width: w}, steps: steps}
			if w.wide && steps >= findAlone {
				z.found = true
				(&drawer{symbols: symbols{width: w}, steps: steps}).writeSearch(fmt.Sprintf("Find%d", 1<<steps))
			}
			z.write(fmt.Sprintf("Draw%d", 1<<steps))
		}
	}
}

// A drawer writes one function. A search is a chain of look-ups: each depends on the one
// before. So with AVX-512 the searches of four vectors run side by side. Long ones, of eight vectors,
// have a function of their own.
type drawer struct {
	symbols
	steps int  // halvings: 2^steps cells at most
	found bool // the cells are given

	stream stream
	scale  operand.Op
	middle reg.VecVirtual // start of the upper half of the cells
	upper  reg.VecVirtual // AVX2: lanes where step 3 went up
	rests  []reg.VecVirtual
}

func (z *drawer) write(name string) {
	function(z.c, name+z.tier,
		"func(symbols []byte, x []float32, first, k0, k1 uint32, words *CellWords, doubt []byte) (doubts uint32)",
		"rounds len(x) coordinates, a multiple of 64.")
	z.loadWords(cellWords())
	z.begin()
	z.stream = z.newStream()
	z.scale = z.stream.word("scale", map[bool]uint32{false: 0x33800000, true: 0x2F800000}[z.wide]) // 2⁻²⁴, 2⁻³²
	if z.steps > 0 {
		z.middle = z.vector()
		z.c.VBROADCASTSS(z.words.field("Starts", 0).Offset(4), z.middle)
	}
	z.flip = z.constant("Flip")
	together := 1
	if z.wide {
		together = 4
	}
	z.each(together, z.draw, z.number)
}

// writeSearch writes the function that only finds cells.
func (z *drawer) writeSearch(name string) {
	function(z.c, name+z.tier, "func(symbols []byte, x []float32, words *CellWords)",
		"finds the cells of len(x) coordinates, a multiple of 128.")
	z.loadWords(cellWords())
	z.x, z.dst = z.base("x"), z.base("symbols")
	z.middle = z.vector()
	z.c.VBROADCASTSS(z.words.field("Starts", 0).Offset(4), z.middle)
	mask := z.constant("Mask")
	n := z.length("x")
	z.loop(n, func() {
		z.c.Comment("Search for eight vectors side by side.")
		v := make([]reg.VecVirtual, 8)
		for i := range v {
			v[i] = z.vector()
			z.load(z.x.Offset(i*z.bytes), v[i])
			z.and(mask, v[i], v[i])
		}
		found := z.search(v)
		z.c.Comment("Store the cells.")
		for i, j := range found {
			z.c.VPMOVDB(j, z.dst.Offset(16*i))
		}
		z.c.ADDQ(operand.U32(8*z.bytes), z.x.Base)
		z.c.ADDQ(operand.U32(128), z.dst.Base)
		z.c.SUBQ(operand.U32(128), n)
	})
	z.finish()
}

// draw finds the cells of vectors, with their bits in reversed order, and keeps
// p − u of each.
func (z *drawer) draw(x []operand.Mem) (j []reg.VecVirtual, doubt []reg.Register) {
	z.c.Comment("Load coordinates.")
	v := make([]reg.VecVirtual, len(x))
	mask := z.constant("Mask")
	for i := range x {
		v[i] = z.vector()
		z.load(x[i], v[i])
		z.and(mask, v[i], v[i])
	}
	if z.found {
		for i := range v {
			at := z.vector()
			z.c.VPMOVZXBD(z.dst.Offset(i*16), at)
			j = append(j, at)
		}
	} else {
		j = z.search(v)
	}
	some := min(2, masked(z.steps))
	for i := 0; i < len(x); i += some {
		end := min(i+some, len(x))
		doubt = append(doubt, z.rest(x[i:end], v[i:end], j[i:end])...)
	}
	return j, doubt
}

// rest sets v to p − u, and returns the lanes in which that is too close to 0 to be certain.
func (z *drawer) rest(x []operand.Mem, v, j []reg.VecVirtual) (doubt []reg.Register) {
	z.c.Comment("Look up 1/width and l/width of the cells: p, the place in the cell.")
	upper := z.uppers(z.steps, j)
	factors := z.find("Factors", 0, z.steps, j, upper)
	low := z.find("Low", 0, z.steps, j, upper)
	for i := range v {
		z.c.VFMSUB132PS(factors[i], low[i], v[i])
	}
	u := z.stream.raw(len(x))
	z.c.Comment("Subtract them from p; near 0 it is doubtful.")
	mirror, guard := z.constant("Mirror"), z.constant("Guard")
	for i := range u {
		z.turn(x[i], mirror, u[i])
	}
	for i := range u {
		z.c.VFNMADD231PS(z.scale, u[i], v[i])
	}
	for i := range v {
		twice := u[i]
		z.c.VPADDD(v[i], v[i], twice) // without the sign
		if z.wide {
			k := z.c.K()
			z.c.VPCMPD(integerLess, guard, twice, k)
			doubt = append(doubt, k)
			continue
		}
		near := z.vector()
		z.load(guard, near)
		z.c.VPCMPGTD(twice, near, near)
		doubt = append(doubt, near)
	}
	for i := range v {
		if len(z.rests)%2 == 1 {
			last := z.rests[len(z.rests)-1]
			z.c.VPACKSSDW(v[i], last, last) // saturation keeps signs
		}
		z.rests = append(z.rests, v[i])
	}
	return doubt
}

// turn converts the raw numbers u to floats: with mirror, 1 − u for a negative x.
func (z *drawer) turn(x operand.Mem, mirror operand.Op, u reg.VecVirtual) {
	negative := z.vector()
	if z.wide {
		z.c.VPSRAD(operand.U8(31), x, negative)
		z.c.VPTERNLOGD(operand.U8(0x78), mirror, negative, u) // u ^ negative & mirror
		z.c.VCVTUDQ2PS(u, u)
		return
	}
	z.load(x, negative)
	z.c.VPSRAD(operand.U8(31), negative, negative)
	z.c.VPAND(mirror, negative, negative)
	z.c.VPXOR(negative, u, u)
	z.c.VPSRLD(operand.U8(8), u, u)
	z.c.VCVTDQ2PS(u, u)
}

// number converts cells to symbols: their bits in order, plus one where u < p.
func (z *drawer) number(cells reg.VecVirtual) {
	z.c.Comment("Put the bits of the cells in order.")
	if z.steps > 4 {
		upper := z.vector()
		z.c.VPSRLW(operand.U8(4), cells, upper)
		z.lowerBits(upper)
		z.lowerBits(cells)
		z.c.VPSHUFB(upper, z.bytesOf("Upper"), upper)
		z.c.VPSHUFB(cells, z.bytesOf("Lower"), cells)
		z.c.VPADDB(upper, cells, cells)
	} else {
		z.c.VPSHUFB(cells, z.bytesOf("Lower"), cells)
	}
	z.c.Comment("Add 1 where u is below p.")
	p := z.rests
	z.rests = nil
	z.c.VPACKSSWB(p[2], p[0], p[0])
	if z.wide {
		k := z.c.K()
		z.c.VPMOVB2M(p[0], k)
		z.c.VPMOVM2B(k, p[0])
	} else {
		z.c.VPCMPGTB(p[0], z.zero, p[0])
	}
	z.c.VPADDB(p[0], cells, cells)
}

// lowerBits keeps the lower four bits of all bytes.
func (z *drawer) lowerBits(v reg.VecVirtual) {
	four := z.same("four", 0x0F0F0F0F)
	if z.wide {
		z.c.VPANDD_BCST(four, v, v)
	} else {
		z.c.VPAND(four, v, v)
	}
}

// bytesOf loads a table of 16 bytes for look-ups by nibbles.
func (z *drawer) bytesOf(name string) reg.VecVirtual {
	v := z.vector()
	if z.wide {
		z.c.VBROADCASTI64X4(z.words.field(name, 0), v)
	} else {
		z.c.VMOVDQU(z.words.field(name, 0), v)
	}
	return v
}
