package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

// peak writes multiply-adds that depend only on their own chains.
func peak(c *build.Context) {
	narrow, wide := widths(c, "peak")[0], widths(c, "peak")[1]
	wide.peak(16)
	narrow.peak(12)
}

// peak writes as many chains as registers allow.
func (w width) peak(chains int) {
	function(w.c, "Peak"+w.tier, "func(n int)",
		"does n times 16 (AVX-512) or 12 (AVX2) multiply-adds of a vector.")
	w.c.Comment("Clear the factor and all sums.")
	n := w.pointer("n").Base
	x := w.vector()
	w.c.VXORPS(x, x, x)
	s := w.registers(chains)
	for i := range s {
		w.c.VXORPS(s[i], s[i], s[i])
	}
	w.c.Label("loop")
	w.c.Comment("Do one multiply-add of each chain.")
	for i := range s {
		w.c.VFMADD231PS(x, x, s[i])
	}
	w.c.DECQ(n)
	w.c.JNZ(operand.LabelRef("loop"))
	w.finish()
}
