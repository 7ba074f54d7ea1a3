package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// sums writes sums of squares and of magnitudes in float64, in four chains.
func sums(c *build.Context) {
	for _, w := range widths(c, "sums") {
		w.sum("squares", func() func(v, sum reg.VecVirtual) {
			return func(v, sum reg.VecVirtual) { w.VFMADD231PD(v, v, sum) }
		})
		w.sum("magnitudes", func() func(v, sum reg.VecVirtual) {
			mask, ones := w.vector(), w.everywhere(0xFFFFFFFF)
			w.VPSRLQ(operand.U8(1), ones, mask)
			return func(v, sum reg.VecVirtual) {
				w.and(mask, v, v)
				w.VADDPD(v, sum, sum)
			}
		})
	}
}

// sum writes one function.
func (w width) sum(name string, term func() func(v, sum reg.VecVirtual)) {
	function(w.Context, name+w.tier, "func(x []float32, out *[8]float64)", "writes sums; len(x) is a multiple of 32.")
	x, n, out := w.base("x"), w.length("x"), w.GP64()
	w.Load(w.Param("out"), out)
	add := term()
	var chains [4]reg.VecVirtual
	for i := range chains {
		chains[i] = w.vector()
		w.clear(chains[i])
	}
	w.loop(n, func() {
		for i, sum := range chains {
			v := w.vector()
			w.VCVTPS2PD(x.Offset(i*w.bytes/2), v)
			add(v, sum)
		}
		w.ADDQ(operand.U32(2*w.bytes), x.Base)
		w.SUBQ(operand.U32(w.bytes/2), n)
	})
	w.VADDPD(chains[1], chains[0], chains[0])
	w.VADDPD(chains[3], chains[2], chains[2])
	w.VADDPD(chains[2], chains[0], chains[0])
	w.VMOVUPD(chains[0], operand.Mem{Base: out})
	w.finish()
}
