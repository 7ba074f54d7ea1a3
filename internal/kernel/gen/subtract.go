package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

// subtract writes dst ← x − y past the caches, for whole steps of two vectors.
func subtract(c *build.Context) {
	for _, w := range widths(c, "subtract") {
		w.subtract()
	}
}

func (w width) subtract() {
	function(w.c, "Subtract"+w.tier, "func(dst, x, y []float32)",
		"computes dst ← x − y and leaves dst in memory, not in the caches; len(dst) is a multiple of two vectors, and "+
			"dst begins at a multiple of one.")
	w.c.Comment("Count from minus the bytes of the vector up to 0, from the ends of dst, x and y.")
	dst, x, y, n := w.c.GP64(), w.c.GP64(), w.c.GP64(), w.c.GP64()
	w.c.Load(w.c.Param("dst").Base(), dst)
	w.c.Load(w.c.Param("dst").Len(), n)
	w.c.Load(w.c.Param("x").Base(), x)
	w.c.Load(w.c.Param("y").Base(), y)
	s, t := w.vector(), w.vector()
	w.c.SHLQ(operand.U8(2), n)
	w.c.ADDQ(n, dst)
	w.c.ADDQ(n, x)
	w.c.ADDQ(n, y)
	w.c.NEGQ(n)
	w.c.JZ(operand.LabelRef("done"))
	w.c.Label("loop")
	w.c.Comment("Subtract two vectors.")
	d := operand.Mem{Base: dst, Index: n, Scale: 1}
	e, f := operand.Mem{Base: x, Index: n, Scale: 1}, operand.Mem{Base: y, Index: n, Scale: 1}
	w.c.VMOVUPS(e, s)
	w.c.VMOVUPS(e.Offset(w.bytes), t)
	w.c.VSUBPS(f, s, s)
	w.c.VSUBPS(f.Offset(w.bytes), t, t)
	w.c.VMOVNTPS(s, d)
	w.c.VMOVNTPS(t, d.Offset(w.bytes))
	w.c.ADDQ(operand.U32(2*w.bytes), n)
	w.c.JNZ(operand.LabelRef("loop"))
	w.c.Label("done")
	w.c.Comment("Other threads see these stores before later ones.")
	w.c.SFENCE()
	w.finish()
}
