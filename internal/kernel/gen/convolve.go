package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// convolve writes the sums over windows.
func convolve(c *build.Context) {
	narrow, wide := widths(c, "convolve")[0], widths(c, "convolve")[1]
	tile{width: wide, quads: convolveTile2, panels: 2}.convolve("Convolve2")
	tile{width: wide, quads: convolveTile1, panels: 1, masked: true}.convolve("Convolve")
	tile{width: narrow, quads: 1, panels: 1}.convolve("Convolve")
	tile{width: narrow, quads: 1, panels: 1, masked: true}.convolve("ConvolvePart")
}

func (t tile) convolve(name string) {
	call := t.called(name, convolveCall(), ", quads *Quad",
		"computes the tiles of a call: the sums of windows of inputs with one or two panels of weights.")
	k := t.loadMask(call.field("Mask", 0))
	s, w := t.sums(), t.row()

	t.c.Label("tile")
	first := t.inputs(call.field("Done", 0), call.field("In", 0))
	t.startSums(call, s)
	t.c.Comment("Begin with the first weights and the first input of each pixel.")
	weights, next := t.c.GP64(), t.c.GP64()
	t.c.MOVQ(call.field("W", 0), weights)
	if t.panels > 1 {
		t.c.MOVQ(call.field("Panel", 0), next)
	}
	at := make([]reg.GPVirtual, 4)
	for i := range at {
		at[i] = t.c.GP64()
		t.c.MOVQ(call.field("InAt", i), at[i])
	}
	rows, n := t.c.GP64(), t.c.GP64()
	t.c.MOVQ(call.field("Rows", 0), rows)
	ahead := t.ahead(call)
	t.c.TESTQ(rows, rows)
	t.c.JZ(operand.LabelRef("store"))

	t.c.Label("row")
	t.c.MOVQ(call.field("Len", 0), n)
	t.c.Label("term")
	t.c.Comment("Load one row of weights.")
	for v := range w {
		t.c.VMOVUPS(t.place(operand.Mem{Base: weights}, v, next), w[v])
	}
	t.c.Comment("Add its products with one input of each pixel to the sums.")
	for q := range first {
		for i := range at {
			t.multiplyAdd(s[4*q+i], w, operand.Mem{Base: first[q], Index: at[i], Scale: 1})
		}
	}
	t.c.Comment("Go on to the next input of the run, and to the next run.")
	for i := range at {
		t.c.ADDQ(operand.U8(4), at[i])
	}
	t.c.ADDQ(operand.U8(panelBytes), weights)
	t.fetch(call, ahead)
	t.c.DECQ(n)
	t.c.JNZ(operand.LabelRef("term"))
	for i := range at {
		t.c.ADDQ(call.field("Step", 0), at[i])
	}
	t.c.DECQ(rows)
	t.c.JNZ(operand.LabelRef("row"))

	t.c.Label("store")
	t.fetched(call, ahead)
	t.storeQuads(call, k, s)
	t.nextTile(call.field("Done", 0), call.field("Tiles", 0))
}

// startSums gives every row of sums its first value.
func (t tile) startSums(call call, s [][]reg.VecVirtual) {
	t.c.Comment("Begin all sums with the start of their columns.")
	start := t.c.GP64()
	t.c.MOVQ(call.field("Start", 0), start)
	for i, row := range s {
		for v := range row {
			if i == 0 {
				t.c.VMOVUPS(operand.Mem{Base: start, Disp: v * t.bytes}, row[v])
			} else {
				t.c.VMOVAPS(s[0][v], row[v])
			}
		}
	}
}

// storeQuads writes the sums of a tile to the places in its quads.
func (t tile) storeQuads(call call, k mask, s [][]reg.VecVirtual) {
	t.c.Comment("Store the sums where the quads say.")
	quads := t.quadTable(call.field("Done", 0))
	out, p, at := t.c.GP64(), t.c.GP64(), t.c.GP64()
	t.c.MOVQ(call.field("Out", 0), out)
	for i, row := range s {
		if i%4 == 0 {
			t.c.MOVQ(quads.Offset(quadPlaces().size()*(i/4)+quadPlaces().at("Out")), p)
			t.c.LEAQ(operand.Mem{Base: out, Index: p, Scale: 4}, p)
		}
		t.c.MOVQ(call.field("OutAt", i%4), at)
		for v := range row {
			t.storeLanes(k, v, row[v], operand.Mem{Base: p, Index: at, Scale: 1, Disp: v * t.bytes})
		}
	}
}
