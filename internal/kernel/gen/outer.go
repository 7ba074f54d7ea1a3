package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// outer writes the sums of outer products.
func outer(c *build.Context) {
	narrow, wide := widths(c, "outer")[0], widths(c, "outer")[1]
	tile{width: wide, quads: outerTile2, panels: 2}.outer("Outer2")
	tile{width: wide, quads: outerTile1, panels: 1, masked: true}.outer("Outer")
	tile{width: wide, quads: 1, panels: 1, masked: true}.outer("OuterRest")
	tile{width: narrow, quads: 1, panels: 1}.outer("Outer")
	tile{width: narrow, quads: 1, panels: 1, masked: true}.outer("OuterPart")
}

func (t tile) outer(name string) {
	call := t.called(name, outerCall(), ", quads *Quad",
		"computes the tiles of a call: sums of outer products, from zero or added to the sums in memory.")
	k := t.loadMask(call.field("Mask", 0))
	s, b := t.sums(), t.row()

	t.c.Label("tile")
	t.c.Comment("Begin all sums with zero, or with those in memory.")
	for i := range s {
		for v := range s[i] {
			t.c.VXORPS(s[i][v], s[i][v], s[i][v])
		}
	}
	t.c.CMPQ(call.field("Add", 0), operand.U8(0))
	t.c.JE(operand.LabelRef("begin"))
	t.eachSum(call, s, func(v int, m operand.Mem, r reg.VecVirtual) { t.loadLanes(k, v, m, r) })
	t.c.Label("begin")
	first := t.inputs(call.field("Done", 0), call.field("A", 0))
	t.c.Comment("Begin the walk over images, rows and pixels.")
	at, column := t.c.GP64(), t.c.GP64()
	t.c.XORQ(at, at)
	t.c.MOVQ(call.field("B", 0), column)
	stepA, stepB := t.c.GP64(), t.c.GP64()
	t.c.MOVQ(call.field("StepA", 2), stepA)
	t.c.MOVQ(call.field("StepB", 2), stepB)
	ahead := t.ahead(call)
	var n [3]reg.GPVirtual
	for i, label := range []string{"image", "row", "pixel"} {
		n[i] = t.c.GP64()
		t.c.MOVQ(call.field("Count", i), n[i])
		t.c.Label(label)
	}
	t.c.Comment("Load the columns of a pixel, and add their products with its rows to the sums.")
	for v := range b {
		t.loadLanes(k, v, operand.Mem{Base: column, Disp: v * t.bytes}, b[v])
	}
	for i, row := range s {
		t.multiplyAdd(row, b, operand.Mem{Base: first[i/4], Index: at, Scale: 1, Disp: 4 * (i % 4)})
	}
	t.c.Comment("Go on to the next pixel, row and image.")
	t.c.ADDQ(stepA, at)
	t.c.ADDQ(stepB, column)
	t.fetch(call, ahead)
	t.c.DECQ(n[2])
	t.c.JNZ(operand.LabelRef("pixel"))
	for i, label := range []string{"row", "image"} {
		t.c.ADDQ(call.field("StepA", 1-i), at)
		t.c.ADDQ(call.field("StepB", 1-i), column)
		t.c.DECQ(n[1-i])
		t.c.JNZ(operand.LabelRef(label))
	}
	t.fetched(call, ahead)
	t.c.Comment("Store the sums where the quads say.")
	t.eachSum(call, s, func(v int, m operand.Mem, r reg.VecVirtual) { t.storeLanes(k, v, r, m) })
	t.nextTile(call.field("Done", 0), call.field("Tiles", 0))
}

// eachSum visits the registers of the sums with their places in memory.
func (t tile) eachSum(call call, s [][]reg.VecVirtual, visit func(v int, m operand.Mem, r reg.VecVirtual)) {
	quads := t.quadTable(call.field("Done", 0))
	sums, row, columns := t.c.GP64(), t.c.GP64(), t.c.GP64()
	t.c.MOVQ(call.field("Sums", 0), sums)
	t.c.MOVQ(call.field("Columns", 0), columns)
	for i := range s {
		if i%4 == 0 {
			t.c.MOVQ(quads.Offset(quadPlaces().size()*(i/4)+quadPlaces().at("Out")), row)
			t.c.LEAQ(operand.Mem{Base: sums, Index: row, Scale: 4}, row)
		} else {
			t.c.ADDQ(columns, row)
		}
		for v, r := range s[i] {
			visit(v, operand.Mem{Base: row, Disp: v * t.bytes}, r)
		}
	}
}
