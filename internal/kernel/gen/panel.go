package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

// panel writes the copy of a panel's columns out of a matrix.
func panel(c *build.Context) {
	for _, w := range widths(c, "panel") {
		tile{width: w, panels: 1}.panel()
	}
}

func (t tile) panel() {
	function(t.c, "Panel"+t.tier, "func(dst, src *float32, rows, columns int)",
		"copies 16 columns of a matrix of rows × columns, both at least 1.")
	t.c.Comment("Load the arguments; a row of the matrix takes 4·columns bytes.")
	dst, src := t.pointer("dst"), t.pointer("src")
	rows, columns := t.pointer("rows").Base, t.pointer("columns").Base
	t.c.SHLQ(operand.U8(2), columns)
	t.c.Label("row")
	t.c.Comment("Copy 16 floats of one row.")
	for i, v := range t.row() {
		t.c.VMOVUPS(src.Offset(i*t.bytes), v)
		t.c.VMOVUPS(v, dst.Offset(i*t.bytes))
	}
	t.c.ADDQ(columns, src.Base)
	t.c.ADDQ(operand.U8(panelBytes), dst.Base)
	t.c.DECQ(rows)
	t.c.JNZ(operand.LabelRef("row"))
	t.finish()
}
