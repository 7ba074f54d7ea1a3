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
	function(w.Context, "MixFloats"+w.tier,
		"func(acc, x []float32, theirs [][]byte, weights []float32, peak *[16]uint32) (moved int)",
		"mixes len(x) coordinates, a multiple of a vector.")
	w.Comment("Begin at the first coordinate.")
	acc, x, list, weights := w.base("acc"), w.base("x"), w.base("theirs"), w.base("weights")
	count, n, at, moved := w.length("weights"), w.length("x"), w.GP64(), w.GP64()
	w.XORQ(at, at)
	w.XORQ(moved, moved)
	magnitude, largest := w.everywhere(0x7FFFFFFF), w.vector()
	w.clear(largest)
	here := func(base reg.Register) operand.Mem { return operand.Mem{Base: base, Index: at, Scale: 1} }
	w.loop(n, func() {
		w.Comment("Begin a vector of coordinates: no sum yet.")
		sum, far, own := w.vector(), w.vector(), w.vector()
		w.clear(sum)
		w.clear(far)
		w.load(here(x.Base), own)
		theirs, weight, left := w.GP64(), w.GP64(), w.GP64()
		w.MOVQ(list.Base, theirs)
		w.MOVQ(weights.Base, weight)
		w.MOVQ(count, left)
		w.Label("neighbour")
		w.Comment("Add weight · difference of one neighbour; keep the largest magnitude.")
		from, d, t := w.GP64(), w.vector(), w.vector()
		w.MOVQ(operand.Mem{Base: theirs}, from)
		w.load(here(from), d)
		w.VSUBPS(own, d, d)
		w.and(magnitude, d, t)
		w.VPMAXUD(t, far, far)
		w.VBROADCASTSS(operand.Mem{Base: weight}, t)
		w.VMULPS(t, d, d)
		w.VADDPS(d, sum, sum)
		w.ADDQ(operand.U32(24), theirs)
		w.ADDQ(operand.U32(4), weight)
		w.DECQ(left)
		w.JNZ(operand.LabelRef("neighbour"))
		w.Comment("Add the sum to acc once, and count the lanes that moved.")
		w.VADDPS(here(acc.Base), sum, sum)
		w.store(sum, here(acc.Base))
		w.VPMAXUD(far, largest, largest)
		w.countLanes(far, moved)
		w.ADDQ(operand.U32(w.bytes), at)
		w.SUBQ(operand.U32(w.bytes/4), n)
	})
	w.Comment("Store the lanes of the largest magnitude.")
	peak := w.GP64()
	w.Load(w.Param("peak"), peak)
	w.store(largest, operand.Mem{Base: peak})
	w.Store(moved, w.ReturnIndex(0))
	w.finish()
}

// countLanes adds the number of dwords of v that are not 0 to count. v is lost.
func (w width) countLanes(v reg.VecVirtual, count reg.GPVirtual) {
	r := w.GP32()
	if w.wide {
		k := w.K()
		w.VPTESTMD(v, v, k)
		w.KMOVW(k, r)
	} else {
		zero := w.vector()
		w.clear(zero)
		w.VPCMPEQD(zero, v, v)
		w.VMOVMSKPS(v, r)
		w.XORL(operand.U32(0xFF), r)
	}
	w.POPCNTL(r, r)
	w.ADDQ(r.As64(), count)
}
