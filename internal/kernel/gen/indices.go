package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// indices writes what is done with grid indices besides rounding: their range,
// parts of them as bytes, and their recovery from symbols.
func indices(c *build.Context) {
	for _, w := range widths(c, "indices") {
		extent(w)
		narrow(w)
		recoverIndices(w)
	}
}

func extent(w width) {
	function(w.Context, "Extent"+w.tier, "func(k []int32) (low, high int32)",
		"returns the least and the largest number; len(k) is a multiple of two vectors, and not 0.")
	w.Comment("Begin two chains with the first vector.")
	k, n := w.base("k"), w.length("k")
	least, largest, least2, largest2 := w.vector(), w.vector(), w.vector(), w.vector()
	for _, v := range []reg.VecVirtual{least, largest, least2, largest2} {
		w.load(k, v)
	}
	w.loop(n, func() {
		w.Comment("Take the minimum and the maximum with two vectors.")
		w.VPMINSD(k, least, least)
		w.VPMAXSD(k, largest, largest)
		w.VPMINSD(k.Offset(w.bytes), least2, least2)
		w.VPMAXSD(k.Offset(w.bytes), largest2, largest2)
		w.ADDQ(operand.U32(2*w.bytes), k.Base)
		w.SUBQ(operand.U32(w.bytes/2), n)
	})
	w.Comment("Join the chains, then the lanes, half with half.")
	w.VPMINSD(least2, least, least)
	w.VPMAXSD(largest2, largest, largest)
	w.Store(w.fold(least, func(other, v reg.Register) { w.VPMINSD(other, v, v) }), w.ReturnIndex(0))
	w.Store(w.fold(largest, func(other, v reg.Register) { w.VPMAXSD(other, v, v) }), w.ReturnIndex(1))
	w.finish()
}

// fold joins the dwords of v, half with half.
func (w width) fold(v reg.VecVirtual, join func(other, v reg.Register)) reg.GPVirtual {
	if w.wide {
		half := w.YMM()
		w.VEXTRACTI64X4(operand.U8(1), v, half)
		join(half, v.AsY())
	}
	half, r := w.XMM(), w.GP32()
	w.VEXTRACTI128(operand.U8(1), v.AsY(), half)
	join(half, v.AsX())
	for _, order := range []uint8{0b1110, 0b01} {
		w.VPSHUFD(operand.U8(order), v.AsX(), half)
		join(half, v.AsX())
	}
	w.VMOVD(v.AsX(), r)
	return r
}

func narrow(w width) {
	function(w.Context, "Narrow"+w.tier, "func(dst []byte, k []int32, shift uint64, base, mask uint32)",
		"writes ((k >> shift) − base) & mask, mask ≤ 255; len(dst) is a multiple of a vector of bytes.")
	w.Comment("Fill vectors with base and mask.")
	dst, k, n := w.base("dst"), w.base("k"), w.length("dst")
	base, mask, order := w.argument("base"), w.argument("mask"), w.vector()
	w.load(w.ordered(), order)
	r, shift := w.GP64(), w.XMM()
	w.Load(w.Param("shift"), r)
	w.VMOVQ(r, shift)
	w.loop(n, func() {
		var out [4]reg.VecVirtual
		for i := range out {
			if i == 0 {
				w.Comment("Shift, subtract and mask four vectors of dwords.")
			}
			out[i] = w.vector()
			w.load(k.Offset(i*w.bytes), out[i])
			w.VPSRAD(shift, out[i], out[i])
			w.VPSUBD(base, out[i], out[i])
			w.and(mask, out[i], out[i])
		}
		w.Comment("Pack them to bytes, within 128 bits, and put those in order.")
		w.VPACKUSDW(out[1], out[0], out[0])
		w.VPACKUSDW(out[3], out[2], out[2])
		w.VPACKUSWB(out[2], out[0], out[0])
		w.VPERMD(out[0], order, out[0])
		w.store(out[0], dst)
		w.ADDQ(operand.U32(4*w.bytes), k.Base)
		w.ADDQ(operand.U32(w.bytes), dst.Base)
		w.SUBQ(operand.U32(w.bytes), n)
	})
	w.finish()
}

func recoverIndices(w width) {
	function(w.Context, "Recover"+w.tier, "func(dst, k []int32, own, low, theirs []byte, shift uint64) (ties uint32)",
		"writes k plus the difference of the symbols; len(dst) is a multiple of 32. "+
			"It tells whether there was a tie, which low decides.")
	w.Comment("Load the arguments; no tie has been seen.")
	dst, k, own := w.base("dst"), w.base("k"), w.base("own")
	low, theirs, n := w.base("low"), w.base("theirs"), w.length("dst")
	r, shift, ties, top := w.GP64(), w.XMM(), w.YMM(), w.YMM()
	w.Load(w.Param("shift"), r)
	w.VMOVQ(r, shift)
	half := w.GP32()
	w.MOVL(operand.U32(0x80808080), half)
	w.VMOVD(half, top.AsX())
	w.VPBROADCASTD(top.AsX(), top)
	w.VPXOR(ties, ties, ties)
	w.loop(n, func() {
		w.Comment("Subtract symbols modulo 256, note ties, and find those that mean +N/2.")
		bytes, flip, t := w.YMM(), w.YMM(), w.YMM()
		w.VMOVDQU(theirs, bytes)
		w.VPSUBB(own, bytes, bytes)
		w.VPCMPEQB(top, bytes, flip)
		w.VPOR(flip, ties, ties)
		w.VMOVDQU(own, t)
		w.VPSUBB(top, t, t)
		w.VPCMPEQB(low, t, t)
		w.VPANDN(flip, t, flip)
		lanes := w.bytes / 4
		w.Comment("Spread the differences to dwords and add them to the own indices.")
		for v := range 32 / lanes {
			d, f := w.vector(), w.vector()
			w.VPMOVSXBD(w.part(bytes, v*lanes), d)
			w.VPMOVSXBD(w.part(flip, v*lanes), f) // −1: the difference is N/2
			w.VPSLLD(operand.U8(8), f, f)
			w.VPSUBD(f, d, d)
			w.VPSRAD(shift, d, d)
			w.VPADDD(k.Offset(v*w.bytes), d, d)
			w.store(d, dst.Offset(v*w.bytes))
		}
		w.ADDQ(operand.U32(128), dst.Base)
		w.ADDQ(operand.U32(128), k.Base)
		w.ADDQ(operand.U32(32), own.Base)
		w.ADDQ(operand.U32(32), low.Base)
		w.ADDQ(operand.U32(32), theirs.Base)
		w.SUBQ(operand.U32(32), n)
	})
	w.Comment("Return which bytes had a tie.")
	found := w.GP32()
	w.VPMOVMSKB(ties, found)
	w.Store(found, w.ReturnIndex(0))
	w.finish()
}

// part returns bytes at and following of v as the lower ones of a register.
func (w width) part(v reg.VecVirtual, at int) operand.Op {
	part := v.AsX()
	if at >= 16 {
		upper := w.XMM()
		w.VEXTRACTI128(operand.U8(1), v, upper)
		part = upper
	}
	if at%16 != 0 {
		shifted := w.XMM()
		w.VPSRLDQ(operand.U8(at%16), part, shifted)
		part = shifted
	}
	return part
}
