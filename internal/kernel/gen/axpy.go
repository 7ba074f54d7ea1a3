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
	function(w.c, "Axpy"+w.tier, "func(dst []float32, a float32, x []float32)",
		"computes dst ← dst + a·x; len(dst) is a multiple of two vectors.")
	w.c.Comment("Count from minus the bytes of the vector up to 0, from the ends of dst and x.")
	dst, x, n := w.c.GP64(), w.c.GP64(), w.c.GP64()
	w.c.Load(w.c.Param("dst").Base(), dst)
	w.c.Load(w.c.Param("dst").Len(), n)
	w.c.Load(w.c.Param("x").Base(), x)
	a, s, t := w.vector(), w.vector(), w.vector()
	w.number("a", a)
	w.c.SHLQ(operand.U8(2), n)
	w.c.ADDQ(n, dst)
	w.c.ADDQ(n, x)
	w.c.NEGQ(n)
	w.c.JZ(operand.LabelRef("done"))
	w.c.Label("loop")
	w.c.Comment("Round two vectors of products, then add them.")
	d, e := operand.Mem{Base: dst, Index: n, Scale: 1}, operand.Mem{Base: x, Index: n, Scale: 1}
	w.c.VMULPS(e, a, s)
	w.c.VMULPS(e.Offset(w.bytes), a, t)
	w.c.VADDPS(d, s, s)
	w.c.VADDPS(d.Offset(w.bytes), t, t)
	w.c.VMOVUPS(s, d)
	w.c.VMOVUPS(t, d.Offset(w.bytes))
	w.c.ADDQ(operand.U32(2*w.bytes), n)
	w.c.JNZ(operand.LabelRef("loop"))
	w.c.Label("done")
	w.finish()
}
