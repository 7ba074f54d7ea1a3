package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// extremes writes the smallest and largest keys, see Tier.Extremes.
func extremes(c *build.Context) {
	for _, w := range widths(c, "extremes") {
		function(c, "Extremes"+w.tier, "func(x []float32, low, high *[16]int32)",
			"lowers low and raises high, in each lane; len(x) is a multiple of 32.")
		w.c.Comment("Load the keys so far, twice: two chains each.")
		x, n, low, high := w.base("x"), w.length("x"), w.c.GP64(), w.c.GP64()
		w.c.Load(w.c.Param("low"), low)
		w.c.Load(w.c.Param("high"), high)
		var least, most [2]reg.VecVirtual
		for i := range least {
			least[i], most[i] = w.vector(), w.vector()
			w.load(operand.Mem{Base: low}, least[i])
			w.load(operand.Mem{Base: high}, most[i])
		}
		w.loop(n, func() {
			w.c.Comment("Make keys of two vectors: integers that are ordered like the floats.")
			for i := range least {
				v, t := w.vector(), w.vector()
				w.load(x.Offset(i*w.bytes), v)
				w.c.VPSRAD(operand.U8(31), v, t)
				w.c.VPSRLD(operand.U8(1), t, t)
				w.xor(t, v, v)
				w.c.VPMINSD(v, least[i], least[i])
				w.c.VPMAXSD(v, most[i], most[i])
			}
			w.c.ADDQ(operand.U32(2*w.bytes), x.Base)
			w.c.SUBQ(operand.U32(2*w.bytes/4), n)
		})
		w.c.Comment("Join the chains and store their lanes.")
		w.c.VPMINSD(least[1], least[0], least[0])
		w.c.VPMAXSD(most[1], most[0], most[0])
		w.store(least[0], operand.Mem{Base: low})
		w.store(most[0], operand.Mem{Base: high})
		w.finish()
	}
}
