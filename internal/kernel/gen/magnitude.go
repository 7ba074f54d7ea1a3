package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// magnitude finds the largest of the numbers without their signs. It compares them as integers, which
// puts NaN above Inf above all numbers.
func magnitude(c *build.Context) {
	for _, w := range widths(c, "magnitude") {
		function(c, "Magnitude"+w.tier, "func(x []byte) (most uint32)",
			"returns the largest bits without signs; len(x) is a multiple of one vector.")
		w.c.Comment("Clear four chains of maxima.")
		x, n := w.base("x"), w.length("x")
		mask := w.everywhere(0x7FFFFFFF)
		var most [4]reg.VecVirtual
		for i := range most {
			most[i] = w.vector()
			w.clear(most[i])
		}
		w.c.SUBQ(operand.U32(4*w.bytes), n)
		w.c.JB(operand.LabelRef("rest"))
		w.c.Label("four")
		w.c.Comment("Take the maximum with four vectors, without their signs.")
		for i, m := range most {
			maximum(w, x.Offset(i*w.bytes), mask, m)
		}
		w.c.ADDQ(operand.U32(4*w.bytes), x.Base)
		w.c.SUBQ(operand.U32(4*w.bytes), n)
		w.c.JAE(operand.LabelRef("four"))
		w.c.Label("rest")
		w.c.ADDQ(operand.U32(4*w.bytes), n)
		w.loop(n, func() {
			w.c.Comment("Take the maximum with one vector.")
			maximum(w, x, mask, most[0])
			w.c.ADDQ(operand.U32(w.bytes), x.Base)
			w.c.SUBQ(operand.U32(w.bytes), n)
		})
		w.c.Comment("Join the chains, then the lanes, half with half.")
		w.c.VPMAXUD(most[1], most[0], most[0])
		w.c.VPMAXUD(most[3], most[2], most[2])
		w.c.VPMAXUD(most[2], most[0], most[0])
		w.c.Store(w.fold(most[0], func(other, v reg.Register) { w.c.VPMAXUD(other, v, v) }), w.c.ReturnIndex(0))
		w.finish()
	}
}

// maximum takes the maximum of most with a vector in memory, without signs.
func maximum(w width, x operand.Mem, mask, most reg.VecVirtual) {
	v := w.vector()
	w.and(x, mask, v)
	w.c.VPMAXUD(v, most, most)
}
