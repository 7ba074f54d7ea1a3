package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

// axpy writes dst ← dst + a·x for whole steps of two vectors.
func axpy(c *build.Context) {
	for _, w := range widths(c, "axpy") {
		w.axpy()
	}
}

func (w width) axpy() {
	function(w.Context, "Axpy"+w.tier, "func(dst []float32, a float32, x []float32)",
		"computes dst ← dst + a·x; len(dst) is a multiple of two vectors.")
	w.Comment("Count from minus the bytes of the vector up to 0, from the ends of dst and x.")
	dst, x, n := w.GP64(), w.GP64(), w.GP64()
	w.Load(w.Param("dst").Base(), dst)
	w.Load(w.Param("dst").Len(), n)
	w.Load(w.Param("x").Base(), x)
	a, s, t := w.vector(), w.vector(), w.vector()
	w.number("a", a)
	w.SHLQ(operand.U8(2), n)
	w.ADDQ(n, dst)
	w.ADDQ(n, x)
	w.NEGQ(n)
	w.JZ(operand.LabelRef("done"))
	w.Label("loop")
	w.Comment("Round two vectors of products, then add them.")
	d, e := operand.Mem{Base: dst, Index: n, Scale: 1}, operand.Mem{Base: x, Index: n, Scale: 1}
	w.VMULPS(e, a, s)
	w.VMULPS(e.Offset(w.bytes), a, t)
	w.VADDPS(d, s, s)
	w.VADDPS(d.Offset(w.bytes), t, t)
	w.VMOVUPS(s, d)
	w.VMOVUPS(t, d.Offset(w.bytes))
	w.ADDQ(operand.U32(2*w.bytes), n)
	w.JNZ(operand.LabelRef("loop"))
	w.Label("done")
	w.finish()
}
