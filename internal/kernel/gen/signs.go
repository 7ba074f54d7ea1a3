package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

// signs writes as bits which floats are at least a limit, see Tier.Signs.
func signs(c *build.Context) {
	for _, w := range widths(c, "signs") {
		function(c, "Signs"+w.tier, "func(dst []byte, x []float32, limit float32)",
			"writes a bit for each of len(x) floats, a multiple of 64.")
		w.c.Comment("Fill a vector with the limit.")
		dst, x, n, limit := w.base("dst"), w.base("x"), w.length("x"), w.vector()
		w.number("limit", limit)
		lanes := w.bytes / 4
		w.loop(n, func() {
			w.c.Comment("Compare a vector, and store a bit of each lane.")
			v := w.vector()
			w.c.VMOVUPS(x, v)
			if w.wide {
				k, r := w.c.K(), w.c.GP32()
				w.c.VCMPPS(notLess, limit, v, k)
				w.c.KMOVW(k, r)
				w.c.MOVW(r.As16(), dst)
			} else {
				r := w.c.GP32()
				w.c.VCMPPS(notLess, limit, v, v)
				w.c.VMOVMSKPS(v, r)
				w.c.MOVB(r.As8(), dst)
			}
			w.c.ADDQ(operand.U32(w.bytes), x.Base)
			w.c.ADDQ(operand.U32(lanes/8), dst.Base)
			w.c.SUBQ(operand.U32(lanes), n)
		})
		w.finish()
	}
}
