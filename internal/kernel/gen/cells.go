package main

import (
	"math/bits"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The places of the words of Cells, in bytes: tables of 64, and words eight times.
const (
	cStarts = 256 * iota
	cHigh
	cLow
	cFactors
	cMask
	cSign = cMask + 32
)

// Predicates of VCMPPS.
const (
	lessEqual    = operand.U8(2)
	greaterEqual = operand.U8(13)
	greater      = operand.U8(14)
)

// cells writes the rounding to a table of each tier, see Cells.
func cells(c *build.Context) {
	for _, w := range widths(c, "cells") {
		(&drawer{symbols: symbols{width: w}, cells: 1}).write("drawOne")
		(&drawer{symbols: symbols{width: w}, cells: 4}).write("drawFew")
		(&drawer{symbols: symbols{width: w}, cells: 8}).write("drawSome")
		(&drawer{symbols: symbols{width: w}, cells: 16}).write("drawMany")
		(&drawer{symbols: symbols{width: w}, cells: 16, narrow: true}).write("drawNarrow")
		if w.wide {
			(&drawer{symbols: symbols{width: w}, cells: 32}).write("drawDouble")
			(&drawer{symbols: symbols{width: w}, cells: 64}).write("drawFourfold")
		}
	}
}

// A drawer writes one function.
type drawer struct {
	symbols
	cells  int  // at most: 1, 4, 8, 16, 32 or 64
	narrow bool // against their levels, which takes another formula

	words                      operand.Mem
	stream                     stream
	mask, scale, guard, one    operand.Op
	steps                      [6]operand.Op // 32, 16, ..., 1
	magnitude                  operand.Op
	starts, high, low, factors func(index reg.VecVirtual) reg.VecVirtual
	nothing                    reg.VecVirtual
	middle                     reg.VecVirtual // where the upper half of the cells starts
	upper                      reg.VecVirtual // lanes of v in it
}

func (z *drawer) write(name string) {
	function(z.Context, name+z.tier, "func(symbols []byte, x []float32, first, k0, k1 uint32, words *[272]uint32, doubt []byte) (doubts uint32)",
		"rounds len(x) coordinates, a multiple of 64.")
	r := z.GP64()
	z.Load(z.Param("words"), r)
	z.words = operand.Mem{Base: r}
	z.begin()
	z.stream = z.newStream()
	for i := range z.steps {
		if 32>>i < max(2, z.cells) {
			z.steps[i] = z.stream.word("step"+string(rune('0'+i)), 32>>i)
		}
	}
	z.one = z.steps[5]
	guard := uint32(0x38800000) // 2⁻¹⁴
	if z.cells > 16 {
		guard = 0x39800000 // 2⁻¹²
	}
	z.scale, z.guard = z.stream.word("scale", 0x33800000), z.stream.word("guard", guard) // 2⁻²⁴
	z.magnitude = z.stream.word("magnitude", 0x7FFFFFFF)
	if z.cells > 1 {
		z.starts = z.find(cStarts)
		if z.wide {
			z.middle = z.vector()
			z.VBROADCASTSS(z.words.Offset(cStarts+4*z.cells/2), z.middle)
		}
	}
	if z.narrow {
		z.high = z.find(cHigh)
	}
	z.low, z.factors = z.find(cLow), z.find(cFactors)
	z.mask, z.sign = z.words.Offset(cMask), z.words.Offset(cSign)
	if z.wide {
		mask, sign := z.vector(), z.vector()
		z.VBROADCASTSS(z.words.Offset(cMask), mask)
		z.VBROADCASTSS(z.words.Offset(cSign), sign)
		z.mask, z.sign = mask, sign
		z.nothing = z.vector()
		z.clear(z.nothing)
	} else {
		z.nothing = z.zero
	}
	z.each(z.draw)
}

// find looks up one of the floats at a place of the words.
func (z *drawer) find(at int) func(index reg.VecVirtual) reg.VecVirtual {
	if z.cells == 1 {
		only := z.vector()
		z.VBROADCASTSS(z.words.Offset(at), only)
		return func(reg.VecVirtual) reg.VecVirtual { return only }
	}
	if z.cells > 16 {
		return z.findMany(at)
	}
	if z.wide {
		table := z.vector()
		z.VMOVUPS(z.words.Offset(at), table)
		return func(index reg.VecVirtual) reg.VecVirtual {
			v := z.vector()
			z.VPERMPS(table, index, v)
			return v
		}
	}
	if z.cells < 16 {
		return func(index reg.VecVirtual) reg.VecVirtual {
			v := z.vector()
			z.VPERMPS(z.words.Offset(at), index, v)
			return v
		}
	}
	return func(index reg.VecVirtual) reg.VecVirtual {
		below, above := z.vector(), z.vector()
		z.VPERMPS(z.words.Offset(at), index, below)
		z.VPERMPS(z.words.Offset(at+32), index, above)
		z.VBLENDVPS(z.upper, above, below, below)
		return below
	}
}

// findMany is find for 32 or 64 floats: two vectors at a time.
func (z *drawer) findMany(at int) func(index reg.VecVirtual) reg.VecVirtual {
	of32 := func(at int, index reg.VecVirtual) reg.VecVirtual {
		v := z.vector()
		z.VMOVUPS(z.words.Offset(at), v)
		z.VPERMT2PS(z.words.Offset(at+64), index, v)
		return v
	}
	return func(index reg.VecVirtual) reg.VecVirtual {
		v := of32(at, index)
		if z.cells == 64 {
			k := z.K()
			z.VPTESTMD(z.steps[0], index, k)
			z.VMOVAPS(of32(at+128, index), k, v)
		}
		return v
	}
}

// draw rounds one vector.
func (z *drawer) draw(x reg.VecVirtual) (reg.VecVirtual, reg.Register) {
	v, j := z.vector(), z.vector()
	z.and(z.mask, x, v)
	z.search(v, j)
	p := v
	if z.narrow {
		z.VSUBPS(z.high(j), v, p)
		z.VSUBPS(z.low(j), p, p)
		z.VMULPS(z.factors(j), p, p)
	} else {
		z.VFMSUB132PS(z.factors(j), z.low(j), p)
	}
	u := z.stream.raw()
	z.VPSRLD(operand.U8(8), u, u)
	z.VCVTDQ2PS(u, u)
	z.VFNMADD231PS(z.scale, u, p)
	if z.wide {
		up, doubt := z.K(), z.K()
		z.VCMPPS(greater, z.nothing, p, up)
		z.VPADDD(z.one, j, up, j)
		z.VPANDD(z.magnitude, p, p)
		z.VCMPPS(lessEqual, z.guard, p, doubt)
		return j, doubt
	}
	up := z.vector()
	z.VCMPPS(greater, z.nothing, p, up)
	z.VPSUBD(up, j, j)
	z.VPAND(z.magnitude, p, p)
	z.VCMPPS(lessEqual, z.guard, p, p)
	return j, p
}

// search makes j the cell of v.
func (z *drawer) search(v, j reg.VecVirtual) {
	if z.cells == 1 {
		z.clear(j)
		return
	}
	steps := z.steps[6-bits.Len(uint(z.cells-1)):]
	z.halve(v, j, steps[0])
	for _, step := range steps[1:] {
		next := z.vector()
		z.or(step, j, next)
		z.choose(v, z.starts(next), next, j)
	}
}

// halve makes j the first step where v is in the upper half of the cells, else 0.
func (z *drawer) halve(v, j reg.VecVirtual, step operand.Op) {
	if z.wide {
		k := z.K()
		z.VCMPPS(greaterEqual, z.middle, v, k)
		z.VMOVDQA32_Z(step, k, j)
		return
	}
	z.upper = z.vector()
	z.VBROADCASTSS(z.words.Offset(cStarts+4*z.cells/2), z.upper)
	z.VCMPPS(greaterEqual, z.upper, v, z.upper)
	z.VPAND(step, z.upper, j)
}

// choose makes j next where v is at least start.
func (z *drawer) choose(v, start, next, j reg.VecVirtual) {
	if z.wide {
		k := z.K()
		z.VCMPPS(greaterEqual, start, v, k)
		z.VMOVDQA32(next, k, j)
		return
	}
	z.VCMPPS(greaterEqual, start, v, start)
	z.VBLENDVPS(start, next, j, j)
}
