package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// momentum writes m, g ← g + µ·m for whole vectors. Sums below the smallest normal number become 0.
func momentum(c *build.Context) {
	for _, w := range widths(c, "momentum") {
		w.momentum()
	}
}

func (w width) momentum() {
	function(w.c, "Momentum"+w.tier, "func(g, m []float32, mu float32)",
		"computes m, g ← g + mu·m, 0 for subnormal sums; len(g) is a multiple of a vector and not 0.")
	flush := w.flusher()
	w.c.Comment("Count from minus the bytes of the vector up to 0, from the ends of g and m.")
	g, m, n := w.c.GP64(), w.c.GP64(), w.c.GP64()
	w.c.Load(w.c.Param("g").Base(), g)
	w.c.Load(w.c.Param("g").Len(), n)
	w.c.Load(w.c.Param("m").Base(), m)
	factor, s := w.vector(), w.vector()
	w.number("mu", factor)
	w.c.SHLQ(operand.U8(2), n)
	w.c.ADDQ(n, g)
	w.c.ADDQ(n, m)
	w.c.NEGQ(n)
	w.c.Label("loop")
	w.c.Comment("Round the product, add the gradient, clear sums without an exponent, and store them twice.")
	from, to := operand.Mem{Base: m, Index: n, Scale: 1}, operand.Mem{Base: g, Index: n, Scale: 1}
	w.c.VMULPS(from, factor, s)
	w.c.VADDPS(to, s, s)
	flush(s)
	w.c.VMOVUPS(s, from)
	w.c.VMOVUPS(s, to)
	w.c.ADDQ(operand.U8(w.bytes), n)
	w.c.JNZ(operand.LabelRef("loop"))
	w.finish()
}

// flusher prepares the constants of a loop, and returns what clears the lanes of a vector that have no bit of exponent.
func (w width) flusher() func(v reg.VecVirtual) {
	w.c.Comment("A number whose exponent has no bit is 0 or subnormal.")
	exponent := w.everywhere(0x7F800000)
	if w.wide {
		return func(v reg.VecVirtual) {
			k := w.c.K()
			w.c.VPTESTMD(exponent, v, k)
			w.c.VMOVDQU32_Z(v, k, v)
		}
	}
	none := w.vector()
	w.clear(none)
	return func(v reg.VecVirtual) {
		tiny := w.vector()
		w.and(exponent, v, tiny)
		w.c.VPCMPEQD(none, tiny, tiny)
		w.c.VPANDN(v, tiny, v)
	}
}
