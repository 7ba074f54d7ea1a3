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

// hash writes XXH64 over two to four streams at once. One stream is a chain of multiplications: each
// depends on the one before. Other streams fill the gaps. AVX2 cannot multiply 64 bits.
func hash(c *build.Context) {
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
