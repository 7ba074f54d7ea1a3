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
		"computes the tiles of a call: sums of outer products, from zero or added to what is there.")
	k := t.loadMask(call.field("Mask", 0))
	s, b := t.sums(), t.row()

	t.Label("tile")
	t.Comment("Begin all sums with zero, or with what is there.")
	for i := range s {
		for v := range s[i] {
			t.VXORPS(s[i][v], s[i][v], s[i][v])
		}
	}
	t.CMPQ(call.field("Add", 0), operand.U8(0))
	t.JE(operand.LabelRef("begin"))
	t.eachSum(call, s, func(v int, m operand.Mem, r reg.VecVirtual) { t.loadLanes(k, v, m, r) })
	t.Label("begin")
	first := t.inputs(call.field("Done", 0), call.field("A", 0))
	t.Comment("Begin the walk over images, rows and pixels.")
	at, column := t.GP64(), t.GP64()
	t.XORQ(at, at)
	t.MOVQ(call.field("B", 0), column)
	stepA, stepB := t.GP64(), t.GP64()
	t.MOVQ(call.field("StepA", 2), stepA)
	t.MOVQ(call.field("StepB", 2), stepB)
	var n [3]reg.GPVirtual
	for i, label := range []string{"image", "row", "pixel"} {
		n[i] = t.GP64()
		t.MOVQ(call.field("Count", i), n[i])
		t.Label(label)
	}
	t.Comment("Load the columns of a pixel, and add their products with its rows to the sums.")
	for v := range b {
		t.loadLanes(k, v, operand.Mem{Base: column, Disp: v * t.bytes}, b[v])
	}
	for i, row := range s {
		t.multiplyAdd(row, b, operand.Mem{Base: first[i/4], Index: at, Scale: 1, Disp: 4 * (i % 4)})
	}
	t.Comment("Go on to the next pixel, row and image.")
	t.ADDQ(stepA, at)
	t.ADDQ(stepB, column)
	t.DECQ(n[2])
	t.JNZ(operand.LabelRef("pixel"))
	for i, label := range []string{"row", "image"} {
		t.ADDQ(call.field("StepA", 1-i), at)
		t.ADDQ(call.field("StepB", 1-i), column)
		t.DECQ(n[1-i])
		t.JNZ(operand.LabelRef(label))
	}
	t.Comment("Store the sums where the quads say.")
	t.eachSum(call, s, func(v int, m operand.Mem, r reg.VecVirtual) { t.storeLanes(k, v, r, m) })
	t.nextTile(call.field("Done", 0), call.field("Tiles", 0))
}

// eachSum visits the registers of the sums with their places in memory.
func (t tile) eachSum(call call, s [][]reg.VecVirtual, visit func(v int, m operand.Mem, r reg.VecVirtual)) {
	quads := t.quadTable(call.field("Done", 0))
	sums, row, columns := t.GP64(), t.GP64(), t.GP64()
	t.MOVQ(call.field("Sums", 0), sums)
	t.MOVQ(call.field("Columns", 0), columns)
	for i := range s {
		if i%4 == 0 {
			t.MOVQ(quads.Offset(quadPlaces().size()*(i/4)+quadPlaces().at("Out")), row)
			t.LEAQ(operand.Mem{Base: sums, Index: row, Scale: 4}, row)
		} else {
			t.ADDQ(columns, row)
		}
		for v, r := range s[i] {
			visit(v, operand.Mem{Base: row, Disp: v * t.bytes}, r)
		}
	}
}
