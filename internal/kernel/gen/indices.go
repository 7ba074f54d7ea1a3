package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// indices writes the functions for grid indices except rounding: their range, parts of them as bytes,
// and their recovery from symbols.
func indices(c *build.Context) {
	for _, w := range widths(c, "indices") {
		extent(w)
		narrow(w)
		recoverIndices(w)
	}
}

func extent(w width) {
	function(w.c, "Extent"+w.tier, "func(k []int32) (low, high int32)",
		"returns the least and the largest number; len(k) is a multiple of two vectors, and not 0.")
	w.c.Comment("Begin two chains with the first vector.")
	k, n := w.base("k"), w.length("k")
	least, largest, least2, largest2 := w.vector(), w.vector(), w.vector(), w.vector()
	for _, v := range []reg.VecVirtual{least, largest, least2, largest2} {
		w.load(k, v)
	}
	w.loop(n, func() {
		w.c.Comment("Take the minimum and the maximum with two vectors.")
		w.c.VPMINSD(k, least, least)
		w.c.VPMAXSD(k, largest, largest)
		w.c.VPMINSD(k.Offset(w.bytes), least2, least2)
		w.c.VPMAXSD(k.Offset(w.bytes), largest2, largest2)
		w.c.ADDQ(operand.U32(2*w.bytes), k.Base)
		w.c.SUBQ(operand.U32(w.bytes/2), n)
	})
	w.c.Comment("Join the chains, then the lanes, half with half.")
	w.c.VPMINSD(least2, least, least)
	w.c.VPMAXSD(largest2, largest, largest)
	w.c.Store(w.fold(least, func(other, v reg.Register) { w.c.VPMINSD(other, v, v) }), w.c.ReturnIndex(0))
	w.c.Store(w.fold(largest, func(other, v reg.Register) { w.c.VPMAXSD(other, v, v) }), w.c.ReturnIndex(1))
	w.finish()
}

// fold joins the dwords of v, half with half.
func (w width) fold(v reg.VecVirtual, join func(other, v reg.Register)) reg.GPVirtual {
	if w.wide {
		half := w.c.YMM()
		w.c.VEXTRACTI64X4(operand.U8(1), v, half)
		join(half, v.AsY())
	}
	half, r := w.c.XMM(), w.c.GP32()
	w.c.VEXTRACTI128(operand.U8(1), v.AsY(), half)
	join(half, v.AsX())
	for _, order := range []uint8{0b1110, 0b01} {
		w.c.VPSHUFD(operand.U8(order), v.AsX(), half)
		join(half, v.AsX())
	}
	w.c.VMOVD(v.AsX(), r)
	return r
}

func narrow(w width) {
	function(w.c, "Narrow"+w.tier, "func(dst []byte, k []int32, shift uint64, base, mask uint32)",
		"writes ((k >> shift) − base) & mask, mask ≤ 255; len(dst) is a multiple of a vector of bytes.")
	w.c.Comment("Fill vectors with base and mask.")
	dst, k, n := w.base("dst"), w.base("k"), w.length("dst")
	base, mask, order := w.argument("base"), w.argument("mask"), w.vector()
	w.load(w.ordered(), order)
	r, shift := w.c.GP64(), w.c.XMM()
	w.c.Load(w.c.Param("shift"), r)
	w.c.VMOVQ(r, shift)
	w.loop(n, func() {
		var out [4]reg.VecVirtual
		for i := range out {
			if i == 0 {
				w.c.Comment("Shift, subtract and mask four vectors of dwords.")
			}
			out[i] = w.vector()
			w.load(k.Offset(i*w.bytes), out[i])
			w.c.VPSRAD(shift, out[i], out[i])
			w.c.VPSUBD(base, out[i], out[i])
			w.and(mask, out[i], out[i])
		}
		w.c.Comment("Pack them to bytes, within 128 bits, and put those in order.")
		w.c.VPACKUSDW(out[1], out[0], out[0])
		w.c.VPACKUSDW(out[3], out[2], out[2])
		w.c.VPACKUSWB(out[2], out[0], out[0])
		w.c.VPERMD(out[0], order, out[0])
		w.store(out[0], dst)
		w.c.ADDQ(operand.U32(4*w.bytes), k.Base)
		w.c.ADDQ(operand.U32(w.bytes), dst.Base)
		w.c.SUBQ(operand.U32(w.bytes), n)
	})
	w.finish()
}

func recoverIndices(w width) {
	function(w.c, "Recover"+w.tier, "func(dst, k []int32, own, low, theirs []byte, shift uint64) (ties uint32)",
		"writes k plus the difference of the symbols; len(dst) is a multiple of 32. "+
			"It tells whether there was a tie, which low decides.")
	w.c.Comment("Load the arguments; no tie has been seen.")
	dst, k, own := w.base("dst"), w.base("k"), w.base("own")
	low, theirs, n := w.base("low"), w.base("theirs"), w.length("dst")
	r, shift, ties, top := w.c.GP64(), w.c.XMM(), w.c.YMM(), w.c.YMM()
	w.c.Load(w.c.Param("shift"), r)
	w.c.VMOVQ(r, shift)
	half := w.c.GP32()
	w.c.MOVL(operand.U32(0x80808080), half)
	w.c.VMOVD(half, top.AsX())
	w.c.VPBROADCASTD(top.AsX(), top)
	w.c.VPXOR(ties, ties, ties)
	w.loop(n, func() {
		w.c.Comment("Subtract symbols modulo 256, note ties, and find those that mean +N/2.")
		bytes, flip, t := w.c.YMM(), w.c.YMM(), w.c.YMM()
		w.c.VMOVDQU(theirs, bytes)
		w.c.VPSUBB(own, bytes, bytes)
		w.c.VPCMPEQB(top, bytes, flip)
		w.c.VPOR(flip, ties, ties)
		w.c.VMOVDQU(own, t)
		w.c.VPSUBB(top, t, t)
		w.c.VPCMPEQB(low, t, t)
		w.c.VPANDN(flip, t, flip)
		lanes := w.bytes / 4
		w.c.Comment("Spread the differences to dwords and add them to the own indices.")
		for v := range 32 / lanes {
			d, f := w.vector(), w.vector()
			w.c.VPMOVSXBD(w.part(bytes, v*lanes), d)
			w.c.VPMOVSXBD(w.part(flip, v*lanes), f) // −1: the difference is N/2
			w.c.VPSLLD(operand.U8(8), f, f)
			w.c.VPSUBD(f, d, d)
			w.c.VPSRAD(shift, d, d)
			w.c.VPADDD(k.Offset(v*w.bytes), d, d)
			w.store(d, dst.Offset(v*w.bytes))
		}
		w.c.ADDQ(operand.U32(128), dst.Base)
		w.c.ADDQ(operand.U32(128), k.Base)
		w.c.ADDQ(operand.U32(32), own.Base)
		w.c.ADDQ(operand.U32(32), low.Base)
		w.c.ADDQ(operand.U32(32), theirs.Base)
		w.c.SUBQ(operand.U32(32), n)
	})
	w.c.Comment("Return which bytes had a tie.")
	found := w.c.GP32()
	w.c.VPMOVMSKB(ties, found)
	w.c.Store(found, w.c.ReturnIndex(0))
	w.finish()
}

// part returns the bytes of v from at on, as the lower ones of a register.
func (w width) part(v reg.VecVirtual, at int) operand.Op {
	part := v.AsX()
	if at >= 16 {
		upper := w.c.XMM()
		w.c.VEXTRACTI128(operand.U8(1), v, upper)
		part = upper
	}
	if at%16 != 0 {
		shifted := w.c.XMM()
		w.c.VPSRLDQ(operand.U8(at%16), part, shifted)
		part = shifted
	}
	return part
}
