package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// quadratic writes the gradient of a quadratic, and sums its value in four chains of float64. More chains would round
// the value otherwise, so both tiers have the same function.
func quadratic(c *build.Context) {
	w := widths(c, "quadratic")[0]
	function(c, "QuadraticAVX2", "func(g, a, x, o []float32, sums *[4]float64)",
		"computes g ← a·(x − o), and adds a·(x − o)² of each fourth coordinate to a sum; len(g) is a multiple of 4.")
	w.c.Comment("Count from minus the bytes of the vectors up to 0, from their ends.")
	g, a, x, o, n := w.c.GP64(), w.c.GP64(), w.c.GP64(), w.c.GP64(), w.c.GP64()
	w.c.Load(w.c.Param("g").Base(), g)
	w.c.Load(w.c.Param("g").Len(), n)
	w.c.Load(w.c.Param("a").Base(), a)
	w.c.Load(w.c.Param("x").Base(), x)
	w.c.Load(w.c.Param("o").Base(), o)
	out := w.pointer("sums")
	sum := w.c.YMM()
	w.c.VMOVUPD(out, sum)
	w.c.SHLQ(operand.U8(2), n)
	for _, end := range []reg.GPVirtual{g, a, x, o} {
		w.c.ADDQ(n, end)
	}
	w.c.NEGQ(n)
	w.loop(n, func() {
		w.c.Comment("The gradient of four coordinates, in float32.")
		at := func(base reg.Register) operand.Mem { return operand.Mem{Base: base, Index: n, Scale: 1} }
		slope := w.c.XMM()
		w.c.VMOVUPS(at(x), slope)
		w.c.VSUBPS(at(o), slope, slope)
		w.c.VMULPS(at(a), slope, slope)
		w.c.VMOVUPS(slope, at(g))
		w.c.Comment("Their terms, in float64.")
		curve, away, best := w.c.YMM(), w.c.YMM(), w.c.YMM()
		w.c.VCVTPS2PD(at(x), away)
		w.c.VCVTPS2PD(at(o), best)
		w.c.VCVTPS2PD(at(a), curve)
		w.c.VSUBPD(best, away, away)
		w.c.VMULPD(away, curve, curve)
		w.c.VMULPD(away, curve, curve)
		w.c.VADDPD(curve, sum, sum)
		w.c.ADDQ(operand.U32(16), n)
	})
	w.c.VMOVUPD(sum, out)
	w.finish()
}
