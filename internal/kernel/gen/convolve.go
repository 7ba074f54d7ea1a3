package main

import (
	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// convolve writes the sums over windows. A tile is 12 pixels of 32 channels or
// 24 of 16 with AVX-512, 4 of 16 with AVX2.
func convolve(c *build.Context) {
	tile{avx512: true, quads: 3, panels: 2}.convolve(c, "convolve2AVX512")
	tile{avx512: true, quads: 6, panels: 1, masked: true}.convolve(c, "convolveAVX512")
	tile{quads: 1, panels: 1}.convolve(c, "convolveAVX2")
	tile{quads: 1, panels: 1, masked: true}.convolve(c, "convolvePartAVX2")
}

// The fields of kernel.convolveCall.
const (
	convolveIn    = 8 * iota
	convolveOut   // *float32
	convolveW     // *float32
	convolveStart // *float32
	convolveDone  // bytes of the quads
	convolveTiles
	convolveRows
	convolveLen
	convolveStep
	convolvePanel
	convolveInAt                      // [4]int
	convolveOutAt = convolveInAt + 32 // [4]int
	convolveMask  = convolveOutAt + 32
)

func (t tile) convolve(c *build.Context, name string) {
	call := callFunction(c, name, "convolveCall", "computes the tiles of a call: the sums of windows of inputs with one or two panels of weights.", "quads")
	k := t.loadMask(c, call.Offset(convolveMask))
	s, w := t.sums(c), t.row(c)

	c.Label("tile")
	first := t.inputs(c, call.Offset(convolveDone), call.Offset(convolveIn))
	t.startSums(c, call, s)
	weights, next := c.GP64(), c.GP64()
	c.MOVQ(call.Offset(convolveW), weights)
	if t.panels > 1 {
		c.MOVQ(call.Offset(convolvePanel), next)
	}
	at := make([]reg.GPVirtual, 4)
	for i := range at {
		at[i] = c.GP64()
		c.MOVQ(call.Offset(convolveInAt+8*i), at[i])
	}
	rows, n := c.GP64(), c.GP64()
	c.MOVQ(call.Offset(convolveRows), rows)
	c.TESTQ(rows, rows)
	c.JZ(LabelRef("store"))

	c.Label("row")
	c.MOVQ(call.Offset(convolveLen), n)
	c.Label("term")
	for v := range w {
		c.VMOVUPS(t.part(Mem{Base: weights}, v, next), w[v])
	}
	for q := range first {
		for i := range at {
			t.multiplyAdd(c, s[4*q+i], w, Mem{Base: first[q], Index: at[i], Scale: 1})
		}
	}
	for i := range at {
		c.ADDQ(U8(4), at[i])
	}
	c.ADDQ(U8(64), weights)
	c.DECQ(n)
	c.JNZ(LabelRef("term"))
	for i := range at {
		c.ADDQ(call.Offset(convolveStep), at[i])
	}
	c.DECQ(rows)
	c.JNZ(LabelRef("row"))

	c.Label("store")
	t.storeQuads(c, call, k, s)
	c.ADDQ(U8(16*t.quads), call.Offset(convolveDone))
	c.DECQ(call.Offset(convolveTiles))
	c.JNZ(LabelRef("tile"))
	c.VZEROUPPER()
	c.RET()
}

// startSums gives every row of sums its first value.
func (t tile) startSums(c *build.Context, call Mem, s [][]reg.VecVirtual) {
	start := c.GP64()
	c.MOVQ(call.Offset(convolveStart), start)
	for i, row := range s {
		for v := range row {
			if i == 0 {
				c.VMOVUPS(Mem{Base: start, Disp: v * t.width()}, row[v])
			} else {
				c.VMOVAPS(s[0][v], row[v])
			}
		}
	}
}

// storeQuads writes the sums of a tile to where its quads say.
func (t tile) storeQuads(c *build.Context, call Mem, k mask, s [][]reg.VecVirtual) {
	quads := t.quadTable(c, call.Offset(convolveDone))
	out, p, at := c.GP64(), c.GP64(), c.GP64()
	c.MOVQ(call.Offset(convolveOut), out)
	for i, row := range s {
		if i%4 == 0 {
			c.MOVQ(Mem{Base: quads, Disp: 16*(i/4) + 8}, p)
			c.LEAQ(Mem{Base: out, Index: p, Scale: 4}, p)
		}
		c.MOVQ(call.Offset(convolveOutAt+8*(i%4)), at)
		for v := range row {
			t.store(c, k, v, row[v], Mem{Base: p, Index: at, Scale: 1, Disp: v * t.width()})
		}
	}
}
