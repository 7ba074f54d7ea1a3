package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// sums writes sums of squares and of magnitudes in float64, in four chains.
func sums(c *build.Context) {
	for _, w := range widths(c, "sums") {
		w.sum("Squares", func() func(v, sum reg.VecVirtual) {
			return func(v, sum reg.VecVirtual) { w.c.VFMADD231PD(v, v, sum) }
		})
		w.sum("Magnitudes", func() func(v, sum reg.VecVirtual) {
			mask, ones := w.vector(), w.everywhere(0xFFFFFFFF)
			w.c.VPSRLQ(operand.U8(1), ones, mask)
			return func(v, sum reg.VecVirtual) {
				w.and(mask, v, v)
				w.c.VADDPD(v, sum, sum)
			}
		})
		w.atLeast()
	}
}

// atLeast writes the sum of the numbers that are at least a limit, and their count.
func (w width) atLeast() {
	function(w.c, "AtLeast"+w.tier, "func(x []float32, limit float32, sums, counts *[8]float64)",
		"writes sums and counts; len(x) is a multiple of 32.")
	w.c.Comment("Fill vectors of float64 with the limit and with 1.")
	x, n := w.base("x"), w.length("x")
	limit, ones := w.vector(), w.vector()
	w.number("limit", limit)
	if w.wide {
		w.c.VCVTPS2PD(limit.AsY(), limit)
	} else {
		w.c.VCVTPS2PD(limit.AsX(), limit)
	}
	w.c.VPCMPEQD(ones.AsY(), ones.AsY(), ones.AsY())
	if w.wide {
		w.c.VPMOVSXDQ(ones.AsY(), ones)
	}
	w.c.VPSRLQ(operand.U8(54), ones, ones)
	w.c.VPSLLQ(operand.U8(52), ones, ones) // 1.0
	w.c.Comment("Clear two sums and two counts.")
	var sum, count [2]reg.VecVirtual
	for i := range sum {
		sum[i], count[i] = w.vector(), w.vector()
		w.clear(sum[i])
		w.clear(count[i])
	}
	w.loop(n, func() {
		w.c.Comment("Add four vectors, where they are no less than the limit.")
		for i := range 4 {
			v := w.vector()
			w.c.VCVTPS2PD(x.Offset(i*w.bytes/2), v)
			if w.wide {
				k := w.c.K()
				w.c.VCMPPD(greaterEqual, limit, v, k)
				w.c.VADDPD(v, sum[i%2], k, sum[i%2])
				w.c.VADDPD(ones, count[i%2], k, count[i%2])
				continue
			}
			at := w.vector()
			w.c.VCMPPD(greaterEqual, limit, v, at)
			w.c.VANDPD(at, v, v)
			w.c.VANDPD(at, ones, at)
			w.c.VADDPD(v, sum[i%2], sum[i%2])
			w.c.VADDPD(at, count[i%2], count[i%2])
		}
		w.c.ADDQ(operand.U32(2*w.bytes), x.Base)
		w.c.SUBQ(operand.U32(w.bytes/2), n)
	})
	w.c.Comment("Join the chains and store their lanes.")
	for i, v := range [][2]reg.VecVirtual{sum, count} {
		w.c.VADDPD(v[1], v[0], v[0])
		r := w.c.GP64()
		w.c.Load(w.c.Param([]string{"sums", "counts"}[i]), r)
		w.c.VMOVUPD(v[0], operand.Mem{Base: r})
	}
	w.finish()
}

// sum writes one function.
func (w width) sum(name string, term func() func(v, sum reg.VecVirtual)) {
	function(w.c, name+w.tier, "func(x []float32, out *[8]float64)", "writes sums; len(x) is a multiple of 32.")
	w.c.Comment("Clear four chains of sums.")
	x, n, out := w.base("x"), w.length("x"), w.c.GP64()
	w.c.Load(w.c.Param("out"), out)
	add := term()
	var chains [4]reg.VecVirtual
	for i := range chains {
		chains[i] = w.vector()
		w.clear(chains[i])
	}
	w.loop(n, func() {
		w.c.Comment("Add a vector of float64 to each chain.")
		for i, sum := range chains {
			v := w.vector()
			w.c.VCVTPS2PD(x.Offset(i*w.bytes/2), v)
			add(v, sum)
		}
		w.c.ADDQ(operand.U32(2*w.bytes), x.Base)
		w.c.SUBQ(operand.U32(w.bytes/2), n)
	})
	w.c.Comment("Join the chains and store their lanes.")
	w.c.VADDPD(chains[1], chains[0], chains[0])
	w.c.VADDPD(chains[3], chains[2], chains[2])
	w.c.VADDPD(chains[2], chains[0], chains[0])
	w.c.VMOVUPD(chains[0], operand.Mem{Base: out})
	w.finish()
}
