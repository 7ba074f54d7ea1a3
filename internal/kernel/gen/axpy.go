package main

import (
	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// axpy writes dst ← dst + a·x for whole steps of two vectors.
func axpy(c *build.Context) {
	axpyWith(c, "axpyAVX2", 32, c.YMM)
	axpyWith(c, "axpyAVX512", 64, c.ZMM)
}

func axpyWith[V reg.Register](c *build.Context, name string, width int, vector func() V) {
	function(c, name, "func(dst []float32, a float32, x []float32)", "computes dst ← dst + a·x; len(dst) is a multiple of two vectors.")
	dst, x, n := c.GP64(), c.GP64(), c.GP64()
	c.Load(c.Param("dst").Base(), dst)
	c.Load(c.Param("dst").Len(), n)
	c.Load(c.Param("x").Base(), x)
	a, s, t := vector(), vector(), vector()
	factor, _ := c.Param("a").Resolve()
	c.VBROADCASTSS(factor.Addr, a)
	c.SHLQ(U8(2), n)
	c.ADDQ(n, dst)
	c.ADDQ(n, x)
	c.NEGQ(n)
	c.JZ(LabelRef("done"))
	c.Label("loop")
	d, e := Mem{Base: dst, Index: n, Scale: 1}, Mem{Base: x, Index: n, Scale: 1}
	c.VMULPS(e, a, s)
	c.VMULPS(e.Offset(width), a, t)
	c.VADDPS(d, s, s)
	c.VADDPS(d.Offset(width), t, t)
	c.VMOVUPS(s, d)
	c.VMOVUPS(t, d.Offset(width))
	c.ADDQ(U32(2*width), n)
	c.JNZ(LabelRef("loop"))
	c.Label("done")
	c.VZEROUPPER()
	c.RET()
}
