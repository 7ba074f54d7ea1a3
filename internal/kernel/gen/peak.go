package main

import (
	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// peak writes the multiply-adds that depend on nothing but their own chains.
func peak(c *build.Context) {
	peakWith(c, "peakAVX512", tile{avx512: true, quads: 4, panels: 1})
	peakWith(c, "peakAVX2", tile{quads: 3, panels: 1})
}

// peakWith writes as many chains as t has rows.
func peakWith(c *build.Context, name string, t tile) {
	function(c, name, "func(n int)", "does n times 16 (AVX-512) or 12 (AVX2) multiply-adds of a vector.")
	n := c.Load(c.Param("n"), c.GP64())
	x := t.register(c)
	c.VXORPS(x, x, x)
	s := make([]reg.VecVirtual, 4*t.quads)
	for i := range s {
		s[i] = t.register(c)
		c.VXORPS(s[i], s[i], s[i])
	}
	c.Label("loop")
	for i := range s {
		c.VFMADD231PS(x, x, s[i])
	}
	c.DECQ(n)
	c.JNZ(LabelRef("loop"))
	c.VZEROUPPER()
	c.RET()
}
