package main

import (
	"strconv"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The primes of XXH64 that its stripes use.
const (
	prime1 = 0x9E3779B185EBCA87
	prime2 = 0xC2B2AE3D27D4EB4F
)

// hash writes XXH64 over one to four streams at once. One stream is a chain of
// multiplications, each waiting for the one before; others fill the gaps. AVX2
// cannot multiply 64 bits.
func hash(c *build.Context) {
	w := widths(c, "hash")[1]
	for streams := 1; streams <= 4; streams++ {
		function(c, "hash"+strconv.Itoa(streams)+"AVX512", "func(lanes *[4][4]uint64, data *[4][]int32, stripes int)",
			"hashes stripes of 32 bytes of each stream.")
		states, data, n := c.GP64(), c.GP64(), c.GP64()
		c.Load(c.Param("lanes"), states)
		c.Load(c.Param("data"), data)
		c.Load(c.Param("stripes"), n)
		prime := func(value uint64) reg.VecVirtual {
			r, v := c.GP64(), c.YMM()
			c.MOVQ(operand.U64(value), r)
			c.VPBROADCASTQ(r, v)
			return v
		}
		first, second := prime(prime1), prime(prime2)
		at := c.GP64()
		c.XORQ(at, at)
		var (
			state [4]reg.VecVirtual
			from  [4]operand.Mem
		)
		for s := range streams {
			state[s] = c.YMM()
			c.VMOVDQU(operand.Mem{Base: states, Disp: 32 * s}, state[s])
			r := c.GP64()
			c.MOVQ(operand.Mem{Base: data, Disp: 24 * s}, r)
			from[s] = operand.Mem{Base: r, Index: at, Scale: 1}
		}
		w.loop(n, func() {
			for s := range streams {
				v := c.YMM()
				c.VPMULLQ(from[s], second, v)
				c.VPADDQ(v, state[s], state[s])
				c.VPROLQ(operand.U8(31), state[s], state[s])
				c.VPMULLQ(first, state[s], state[s])
			}
			c.ADDQ(operand.U32(32), at)
			c.DECQ(n)
		})
		for s := range streams {
			c.VMOVDQU(state[s], operand.Mem{Base: states, Disp: 32 * s})
		}
		w.finish()
	}
}
