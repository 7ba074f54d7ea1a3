package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// points writes the addition of table entries: from tables of 16 in one or two registers, and of 256
// in 16 registers of AVX-512.
func points(c *build.Context) {
	const arguments = "func(acc []float32, symbols []byte, shift uint64, points *[256]float32)"
	all := widths(c, "points")
	for _, w := range all {
		function(c, "AddFew"+w.tier, arguments,
			"adds the points of len(symbols) symbols of up to 4 bits, a multiple of 16.")
		w.addPoints(w.few)
	}
	function(c, "AddMany"+all[1].tier, arguments,
		"adds the points of len(symbols) symbols of up to 8 bits, a multiple of 16.")
	all[1].addPoints(all[1].many)
}

// addPoints writes the loop around a look-up.
func (w width) addPoints(table func(at operand.Mem) func(index reg.VecVirtual) reg.VecVirtual) {
	w.c.Comment("Load the table into registers.")
	acc, symbols, n, lanes := w.base("acc"), w.base("symbols"), w.length("symbols"), w.bytes/4
	r, shift := w.c.GP64(), w.c.XMM()
	w.c.Load(w.c.Param("shift"), r)
	w.c.VMOVQ(r, shift)
	at := w.c.GP64()
	w.c.Load(w.c.Param("points"), at)
	point := table(operand.Mem{Base: at})
	w.loop(n, func() {
		w.c.Comment("Look up the points of a vector of symbols and add them.")
		index, sum := w.vector(), w.vector()
		w.c.VPMOVZXBD(symbols, index)
		w.c.VPSRLD(shift, index, index)
		w.c.VMOVUPS(acc, sum)
		w.c.VADDPS(point(index), sum, sum)
		w.c.VMOVUPS(sum, acc)
		w.c.ADDQ(operand.U32(w.bytes), acc.Base)
		w.c.ADDQ(operand.U32(lanes), symbols.Base)
		w.c.SUBQ(operand.U32(lanes), n)
	})
	w.finish()
}

// few selects one of 16 floats.
func (w width) few(at operand.Mem) func(index reg.VecVirtual) reg.VecVirtual {
	low, high := w.vector(), w.vector()
	w.c.VMOVUPS(at, low)
	if w.wide {
		return func(index reg.VecVirtual) reg.VecVirtual {
			w.c.VPERMPS(low, index, index)
			return index
		}
	}
	w.c.VMOVUPS(at.Offset(32), high)
	return func(index reg.VecVirtual) reg.VecVirtual {
		below, above := w.vector(), w.vector()
		w.c.VPERMPS(low, index, below)
		w.c.VPERMPS(high, index, above)
		w.c.VPSLLD(operand.U8(28), index, index)
		w.c.VBLENDVPS(index, above, below, below)
		return below
	}
}

// many selects one of 256 floats: one in each pair of registers, and three bits of the index
// then choose one.
func (w width) many(at operand.Mem) func(index reg.VecVirtual) reg.VecVirtual {
	var tables [16]reg.VecVirtual
	for i := range tables {
		tables[i] = w.vector()
		w.c.VMOVUPS(at.Offset(64*i), tables[i])
	}
	var bits [3]reg.VecVirtual
	for i := range bits {
		bits[i] = w.everywhere(32 << i)
	}
	return func(index reg.VecVirtual) reg.VecVirtual {
		var found [8]reg.VecVirtual
		for i := range found {
			found[i] = w.vector()
			w.c.VMOVDQA32(index, found[i])
			w.c.VPERMI2PS(tables[2*i+1], tables[2*i], found[i])
		}
		for i, bit := range bits {
			k := w.c.K()
			w.c.VPTESTMD(bit, index, k)
			for j := 0; j < 8; j += 2 << i {
				w.c.VMOVAPS(found[j+1<<i], k, found[j])
			}
		}
		return found[0]
	}
}
