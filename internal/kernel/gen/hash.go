package main

import (
	"strconv"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A chain is the state of one hash.
type chain struct {
	width
	state, first, second reg.VecVirtual
}

// newChain returns a chain, whose primes the others may share.
func (w width) newChain() chain {
	prime := func(value uint64, v reg.VecVirtual) reg.VecVirtual {
		r := w.c.GP64()
		w.c.MOVQ(operand.U64(value), r)
		w.c.VPBROADCASTQ(r, v)
		return v
	}
	return chain{w, w.c.YMM(), prime(prime1, w.c.YMM()), prime(prime2, w.c.ZMM())}
}

func (h chain) load(lanes operand.Mem)  { h.c.VMOVDQU(lanes, h.state) }
func (h chain) store(lanes operand.Mem) { h.c.VMOVDQU(h.state, lanes) }

// stripe hashes 32 bytes.
func (h chain) stripe(from operand.Mem) {
	v := h.c.YMM()
	h.c.VPMULLQ(from, h.second.AsY(), v)
	h.enter(v)
}

// enter is the part of a stripe that depends on the stripe before.
func (h chain) enter(product reg.Register) {
	h.c.VPADDQ(product, h.state, h.state)
	h.c.VPROLQ(operand.U8(31), h.state, h.state)
	h.c.VPMULLQ(h.first, h.state, h.state)
}

// hash writes XXH64 of one stream, and of two to four streams at once. One stream is a chain of
// multiplications: each depends on the one before. Other streams fill the gaps.
func hash(c *build.Context) {
	hashOne(widths(c, "hash")[0])
	w := widths(c, "hash")[1]
	for streams := 2; streams <= 4; streams++ {
		function(c, "Hash"+strconv.Itoa(streams)+w.tier, "func(lanes *[4][4]uint64, data *[4][]int32, stripes int)",
			"hashes stripes of 32 bytes of each stream.")
		c.Comment("Load the states of all streams and where their data are.")
		states, data, n, at := c.GP64(), c.GP64(), c.GP64(), c.GP64()
		c.Load(c.Param("lanes"), states)
		c.Load(c.Param("data"), data)
		c.Load(c.Param("stripes"), n)
		c.XORQ(at, at)
		chains, from := make([]chain, streams), make([]operand.Mem, streams)
		for s := range chains {
			if s == 0 {
				chains[s] = w.newChain()
			} else {
				chains[s] = chains[0]
				chains[s].state = c.YMM()
			}
			chains[s].load(operand.Mem{Base: states, Disp: 32 * s})
			r := c.GP64()
			c.MOVQ(operand.Mem{Base: data, Disp: 24 * s}, r)
			from[s] = operand.Mem{Base: r, Index: at, Scale: 1}
		}
		w.loop(n, func() {
			c.Comment("Enter one stripe of each stream.")
			for s, h := range chains {
				h.stripe(from[s])
			}
			c.ADDQ(operand.U32(32), at)
			c.DECQ(n)
		})
		c.Comment("Store the states.")
		for s, h := range chains {
			h.store(operand.Mem{Base: states, Disp: 32 * s})
		}
		w.finish()
	}
}

// hashOne writes XXH64 of one stream. Vectors do the multiplications that depend on none before, and
// general registers do the chain. AVX2 multiplies numbers of 32 bits: three products make one of 64.
func hashOne(w width) {
	c := w.c
	function(c, "Hash"+w.tier, "func(lanes *[4]uint64, k []int32)", "hashes stripes of 32 bytes.")
	c.Comment("Load the state and the primes.")
	lanes, from, n := w.pointer("lanes"), w.base("k"), w.length("k")
	var state [4]reg.GPVirtual
	for i := range state {
		state[i] = c.GP64()
		c.MOVQ(lanes.Offset(8*i), state[i])
	}
	first, r := c.GP64(), c.GP64()
	low, high := w.vector(), w.vector()
	c.MOVQ(operand.U64(prime2), r)
	c.VMOVQ(r, low.AsX())
	c.VPBROADCASTQ(low.AsX(), low)
	c.VPSRLQ(operand.U8(32), low, high)
	c.MOVQ(operand.U64(prime1), first)
	products := c.AllocLocal(32)
	c.SHRQ(operand.U8(3), n)
	w.loop(n, func() {
		c.Comment("Multiply a stripe by the second prime.")
		v, cross, other := w.vector(), w.vector(), w.vector()
		w.load(from, v)
		c.VPSRLQ(operand.U8(32), v, cross)
		c.VPMULUDQ(low, cross, cross)
		c.VPMULUDQ(high, v, other)
		c.VPMULUDQ(low, v, v)
		c.VPADDQ(other, cross, cross)
		c.VPSLLQ(operand.U8(32), cross, cross)
		c.VPADDQ(cross, v, v)
		w.store(v, products)
		c.Comment("Enter the products.")
		for i, lane := range state {
			c.ADDQ(products.Offset(8*i), lane)
			c.ROLQ(operand.U8(31), lane)
			c.IMULQ(first, lane)
		}
		c.ADDQ(operand.U8(32), from.Base)
		c.DECQ(n)
	})
	c.Comment("Store the state.")
	for i, lane := range state {
		c.MOVQ(lane, lanes.Offset(8*i))
	}
	w.finish()
}
