package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// floats writes the mixing of models in full precision, see Tier.MixFloats.
func floats(c *build.Context) {
	for _, w := range widths(c, "floats") {
		mixFloats(w)
	}
}

func mixFloats(w width) {
	function(w.c, "MixFloats"+w.tier,
		"func(acc, x []float32, theirs [][]byte, weights []float32, peak *[16]uint32) (moved int)",
		"mixes len(x) coordinates, a multiple of a vector.")
	w.c.Comment("Begin at the first coordinate.")
	acc, x, list, weights := w.base("acc"), w.base("x"), w.base("theirs"), w.base("weights")
	count, n, at, moved := w.length("weights"), w.length("x"), w.c.GP64(), w.c.GP64()
	w.c.XORQ(at, at)
	w.c.XORQ(moved, moved)
	magnitude, largest := w.everywhere(0x7FFFFFFF), w.vector()
	w.clear(largest)
	here := func(base reg.Register) operand.Mem { return operand.Mem{Base: base, Index: at, Scale: 1} }
	w.loop(n, func() {
		w.c.Comment("Begin a vector of coordinates: no sum yet.")
		sum, far, own := w.vector(), w.vector(), w.vector()
		w.clear(sum)
		w.clear(far)
		w.load(here(x.Base), own)
		theirs, weight, left := w.c.GP64(), w.c.GP64(), w.c.GP64()
		w.c.MOVQ(list.Base, theirs)
		w.c.MOVQ(weights.Base, weight)
		w.c.MOVQ(count, left)
		w.c.Label("neighbour")
		w.c.Comment("Add weight · difference of one neighbour; keep the largest magnitude.")
		from, d, t := w.c.GP64(), w.vector(), w.vector()
		w.c.MOVQ(operand.Mem{Base: theirs}, from)
		w.load(here(from), d)
		w.c.VSUBPS(own, d, d)
		w.and(magnitude, d, t)
		w.c.VPMAXUD(t, far, far)
		w.c.VBROADCASTSS(operand.Mem{Base: weight}, t)
		w.c.VMULPS(t, d, d)
		w.c.VADDPS(d, sum, sum)
		w.c.ADDQ(operand.U32(24), theirs)
		w.c.ADDQ(operand.U32(4), weight)
		w.c.DECQ(left)
		w.c.JNZ(operand.LabelRef("neighbour"))
		w.c.Comment("Add the sum to acc once, and count the lanes that moved.")
		w.c.VADDPS(here(acc.Base), sum, sum)
		w.store(sum, here(acc.Base))
		w.c.VPMAXUD(far, largest, largest)
		w.countLanes(far, moved)
		w.c.ADDQ(operand.U32(w.bytes), at)
		w.c.SUBQ(operand.U32(w.bytes/4), n)
	})
	w.c.Comment("Store the lanes of the largest magnitude.")
	peak := w.c.GP64()
	w.c.Load(w.c.Param("peak"), peak)
	w.store(largest, operand.Mem{Base: peak})
	w.c.Store(moved, w.c.ReturnIndex(0))
	w.finish()
}

// countLanes adds the number of dwords of v that are not 0 to count. It overwrites v.
func (w width) countLanes(v reg.VecVirtual, count reg.GPVirtual) {
	r := w.c.GP32()
	if w.wide {
		k := w.c.K()
		w.c.VPTESTMD(v, v, k)
		w.c.KMOVW(k, r)
	} else {
		zero := w.vector()
		w.clear(zero)
		w.c.VPCMPEQD(zero, v, v)
		w.c.VMOVMSKPS(v, r)
		w.c.XORL(operand.U32(0xFF), r)
	}
	w.c.POPCNTL(r, r)
	w.c.ADDQ(r.As64(), count)
}
