package main

import (
	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// outer writes the sums of outer products. A tile is 12 rows of 32 channels or
// 24 of 16 with AVX-512, 4 of 16 with AVX2 and for what is left.
func outer(c *build.Context) {
	tile{avx512: true, quads: 3, panels: 2}.outer(c, "outer2AVX512")
	tile{avx512: true, quads: 6, panels: 1, masked: true}.outer(c, "outerAVX512")
	tile{avx512: true, quads: 1, panels: 1, masked: true}.outer(c, "outerRestAVX512")
	tile{quads: 1, panels: 1}.outer(c, "outerAVX2")
	tile{quads: 1, panels: 1, masked: true}.outer(c, "outerPartAVX2")
}

// The fields of kernel.outerCall.
const (
	outerA    = 8 * iota
	outerB    // *float32
	outerSums // *float32
	outerDone // bytes of the quads
	outerTiles
	outerAdd
	outerColumns
	outerCount                   // [3]int
	outerStepA = outerCount + 24 // [3]int
	outerStepB = outerStepA + 24 // [3]int
	outerMask  = outerStepB + 24
)

func (t tile) outer(c *build.Context, name string) {
	call := callFunction(c, name, "outerCall", "computes the tiles of a call: sums of outer products, from zero or added to what is there.", "quads")
	k := t.loadMask(c, call.Offset(outerMask))
	s, b := t.sums(c), t.row(c)

	c.Label("tile")
	for i := range s {
		for v := range s[i] {
			c.VXORPS(s[i][v], s[i][v], s[i][v])
		}
	}
	c.CMPQ(call.Offset(outerAdd), U8(0))
	c.JE(LabelRef("begin"))
	t.eachSum(c, call, s, func(v int, m Mem, r reg.VecVirtual) { t.load(c, k, v, m, r) })
	c.Label("begin")
	first := t.inputs(c, call.Offset(outerDone), call.Offset(outerA))
	at, column := c.GP64(), c.GP64()
	c.XORQ(at, at)
	c.MOVQ(call.Offset(outerB), column)
	stepA, stepB := c.GP64(), c.GP64()
	c.MOVQ(call.Offset(outerStepA+16), stepA)
	c.MOVQ(call.Offset(outerStepB+16), stepB)
	var n [3]reg.GPVirtual
	for i, label := range []string{"image", "row", "pixel"} {
		n[i] = c.GP64()
		c.MOVQ(call.Offset(outerCount+8*i), n[i])
		c.Label(label)
	}
	for v := range b {
		t.load(c, k, v, Mem{Base: column, Disp: v * t.width()}, b[v])
	}
	for i, row := range s {
		t.multiplyAdd(c, row, b, Mem{Base: first[i/4], Index: at, Scale: 1, Disp: 4 * (i % 4)})
	}
	c.ADDQ(stepA, at)
	c.ADDQ(stepB, column)
	c.DECQ(n[2])
	c.JNZ(LabelRef("pixel"))
	for i, label := range []string{"row", "image"} {
		c.ADDQ(call.Offset(outerStepA+8*(1-i)), at)
		c.ADDQ(call.Offset(outerStepB+8*(1-i)), column)
		c.DECQ(n[1-i])
		c.JNZ(LabelRef(label))
	}
	t.eachSum(c, call, s, func(v int, m Mem, r reg.VecVirtual) { t.store(c, k, v, r, m) })
	c.ADDQ(U8(16*t.quads), call.Offset(outerDone))
	c.DECQ(call.Offset(outerTiles))
	c.JNZ(LabelRef("tile"))
	c.VZEROUPPER()
	c.RET()
}

// eachSum visits the registers of the sums with their places in memory.
func (t tile) eachSum(c *build.Context, call Mem, s [][]reg.VecVirtual, visit func(v int, m Mem, r reg.VecVirtual)) {
	quads := t.quadTable(c, call.Offset(outerDone))
	sums, row, columns := c.GP64(), c.GP64(), c.GP64()
	c.MOVQ(call.Offset(outerSums), sums)
	c.MOVQ(call.Offset(outerColumns), columns)
	for i := range s {
		if i%4 == 0 {
			c.MOVQ(Mem{Base: quads, Disp: 16*(i/4) + 8}, row)
			c.LEAQ(Mem{Base: sums, Index: row, Scale: 4}, row)
		} else {
			c.ADDQ(columns, row)
		}
		for v, r := range s[i] {
			visit(v, Mem{Base: row, Disp: v * t.width()}, r)
		}
	}
}
