package main

import (
	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// momentum writes m, g ← g + µ·m for whole vectors.
func momentum(c *build.Context) {
	momentumWith(c, "momentumAVX2", 32, c.YMM)
	momentumWith(c, "momentumAVX512", 64, c.ZMM)
}

func momentumWith[V reg.Register](c *build.Context, name string, width int, vector func() V) {
	function(c, name, "func(g, m []float32, mu float32)", "computes m, g ← g + mu·m; len(g) is a multiple of a vector and not 0.")
	g, m, n := c.GP64(), c.GP64(), c.GP64()
	c.Load(c.Param("g").Base(), g)
	c.Load(c.Param("g").Len(), n)
	c.Load(c.Param("m").Base(), m)
	factor, s := vector(), vector()
	mu, _ := c.Param("mu").Resolve()
	c.VBROADCASTSS(mu.Addr, factor)
	c.SHLQ(U8(2), n)
	c.ADDQ(n, g)
	c.ADDQ(n, m)
	c.NEGQ(n)
	c.Label("loop")
	from, to := Mem{Base: m, Index: n, Scale: 1}, Mem{Base: g, Index: n, Scale: 1}
	c.VMULPS(from, factor, s)
	c.VADDPS(to, s, s)
	c.VMOVUPS(s, from)
	c.VMOVUPS(s, to)
	c.ADDQ(U8(width), n)
	c.JNZ(LabelRef("loop"))
	c.VZEROUPPER()
	c.RET()
}
