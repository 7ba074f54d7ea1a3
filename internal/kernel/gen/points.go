package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// points writes the addition of table entries: 16 of them in one register or
// two, and 256 in 16 registers of AVX-512.
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
	w.Comment("Load the table into registers.")
	acc, symbols, n, lanes := w.base("acc"), w.base("symbols"), w.length("symbols"), w.bytes/4
	r, shift := w.GP64(), w.XMM()
	w.Load(w.Param("shift"), r)
	w.VMOVQ(r, shift)
	at := w.GP64()
	w.Load(w.Param("points"), at)
	point := table(operand.Mem{Base: at})
	w.loop(n, func() {
		w.Comment("Look up the points of a vector of symbols and add them.")
		index, sum := w.vector(), w.vector()
		w.VPMOVZXBD(symbols, index)
		w.VPSRLD(shift, index, index)
		w.VMOVUPS(acc, sum)
		w.VADDPS(point(index), sum, sum)
		w.VMOVUPS(sum, acc)
		w.ADDQ(operand.U32(w.bytes), acc.Base)
		w.ADDQ(operand.U32(lanes), symbols.Base)
		w.SUBQ(operand.U32(lanes), n)
	})
	w.finish()
}

// few looks up one of 16 floats.
func (w width) few(at operand.Mem) func(index reg.VecVirtual) reg.VecVirtual {
	low, high := w.vector(), w.vector()
	w.VMOVUPS(at, low)
	if w.wide {
		return func(index reg.VecVirtual) reg.VecVirtual {
			w.VPERMPS(low, index, index)
			return index
		}
	}
	w.VMOVUPS(at.Offset(32), high)
	return func(index reg.VecVirtual) reg.VecVirtual {
		below, above := w.vector(), w.vector()
		w.VPERMPS(low, index, below)
		w.VPERMPS(high, index, above)
		w.VPSLLD(operand.U8(28), index, index)
		w.VBLENDVPS(index, above, below, below)
		return below
	}
}

// many looks up one of 256: in each two registers, of which three bits of the
// index then choose one.
func (w width) many(at operand.Mem) func(index reg.VecVirtual) reg.VecVirtual {
	var tables [16]reg.VecVirtual
	for i := range tables {
		tables[i] = w.vector()
		w.VMOVUPS(at.Offset(64*i), tables[i])
	}
	var bits [3]reg.VecVirtual
	for i := range bits {
		bits[i] = w.everywhere(32 << i)
	}
	return func(index reg.VecVirtual) reg.VecVirtual {
		var found [8]reg.VecVirtual
		for i := range found {
			found[i] = w.vector()
			w.VMOVDQA32(index, found[i])
			w.VPERMI2PS(tables[2*i+1], tables[2*i], found[i])
		}
		for i, bit := range bits {
			k := w.K()
			w.VPTESTMD(bit, index, k)
			for j := 0; j < 8; j += 2 << i {
				w.VMOVAPS(found[j+1<<i], k, found[j])
			}
		}
		return found[0]
	}
}
