package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

// momentum writes m, g ← g + µ·m for whole vectors.
func momentum(c *build.Context) {
	for _, w := range widths(c, "momentum") {
		w.momentum()
	}
}

func (w width) momentum() {
	function(w.Context, "Momentum"+w.tier, "func(g, m []float32, mu float32)",
		"computes m, g ← g + mu·m; len(g) is a multiple of a vector and not 0.")
	w.Comment("Count from minus the bytes of the vector up to 0, from the ends of g and m.")
	g, m, n := w.GP64(), w.GP64(), w.GP64()
	w.Load(w.Param("g").Base(), g)
	w.Load(w.Param("g").Len(), n)
	w.Load(w.Param("m").Base(), m)
	factor, s := w.vector(), w.vector()
	w.number("mu", factor)
	w.SHLQ(operand.U8(2), n)
	w.ADDQ(n, g)
	w.ADDQ(n, m)
	w.NEGQ(n)
	w.Label("loop")
	w.Comment("Round the product, add the gradient, and store the sum twice.")
	from, to := operand.Mem{Base: m, Index: n, Scale: 1}, operand.Mem{Base: g, Index: n, Scale: 1}
	w.VMULPS(from, factor, s)
	w.VADDPS(to, s, s)
	w.VMOVUPS(s, from)
	w.VMOVUPS(s, to)
	w.ADDQ(operand.U8(w.bytes), n)
	w.JNZ(operand.LabelRef("loop"))
	w.finish()
}
