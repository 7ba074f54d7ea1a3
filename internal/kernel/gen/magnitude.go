package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// magnitude writes the largest of the numbers without their signs. It compares them as integers, which
// puts NaN above Inf above all numbers.
func magnitude(c *build.Context) {
	for _, w := range widths(c, "magnitude") {
		function(c, "Magnitude"+w.tier, "func(x []byte, out *[16]uint32)",
			"writes the largest bits of each lane; len(x) is a multiple of four vectors.")
		w.c.Comment("Clear four chains of maxima.")
		x, n, out := w.base("x"), w.length("x"), w.c.GP64()
		w.c.Load(w.c.Param("out"), out)
		mask := w.everywhere(0x7FFFFFFF)
		var most [4]reg.VecVirtual
		for i := range most {
			most[i] = w.vector()
			w.clear(most[i])
		}
		w.loop(n, func() {
			w.c.Comment("Take the maximum with four vectors, without their signs.")
			for i, m := range most {
				v := w.vector()
				w.and(x.Offset(i*w.bytes), mask, v)
				w.c.VPMAXUD(v, m, m)
			}
			w.c.ADDQ(operand.U32(4*w.bytes), x.Base)
			w.c.SUBQ(operand.U32(4*w.bytes), n)
		})
		w.c.Comment("Join the chains and store their lanes.")
		w.c.VPMAXUD(most[1], most[0], most[0])
		w.c.VPMAXUD(most[3], most[2], most[2])
		w.c.VPMAXUD(most[2], most[0], most[0])
		w.store(most[0], operand.Mem{Base: out})
		w.finish()
	}
}
