package main

import (
	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// panel writes the copy of a panel's columns out of a matrix.
func panel(c *build.Context) {
	tile{avx512: true, panels: 1}.panel(c, "panelAVX512")
	tile{panels: 1}.panel(c, "panelAVX2")
}

func (t tile) panel(c *build.Context, name string) {
	function(c, name, "func(dst, src *float32, rows, columns int)", "copies 16 columns of a matrix of rows × columns, both at least 1.")
	dst, src := c.Load(c.Param("dst"), c.GP64()), c.Load(c.Param("src"), c.GP64())
	rows, columns := c.Load(c.Param("rows"), c.GP64()), c.Load(c.Param("columns"), c.GP64())
	c.SHLQ(U8(2), columns)
	c.Label("row")
	for i, v := range t.row(c) {
		c.VMOVUPS(Mem{Base: src, Disp: i * t.width()}, v)
		c.VMOVUPS(v, Mem{Base: dst, Disp: i * t.width()})
	}
	c.ADDQ(columns, src)
	c.ADDQ(U8(64), dst)
	c.DECQ(rows)
	c.JNZ(LabelRef("row"))
	c.VZEROUPPER()
	c.RET()
}
