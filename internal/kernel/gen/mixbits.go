package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// mixBits writes the mixer of one-bit symbols of each tier, see Tier.MixBits.
func mixBits(c *build.Context) {
	for _, w := range widths(c, "mixbits") {
		(&bitMixer{width: w}).write()
	}
}

// A bitMixer writes one function. Where symbols differ, the sign of the difference is the same for all
// neighbours, so a sum adds the scale of each with that sign.
type bitMixer struct {
	width
	low, own, theirs, scales operand.Mem
	count, some, moved       reg.GPVirtual
	signs                    reg.VecVirtual
}

func (m *bitMixer) write() {
	function(m.c, "MixBits"+m.tier,
		"func(acc []float32, own, low []byte, theirs [][]byte, scales []float32) (moved int)",
		"mixes len(acc) coordinates, a multiple of 64.")
	m.c.Comment("Load the arguments; nothing has moved yet.")
	acc, n := m.base("acc"), m.length("acc")
	m.own, m.low, m.theirs, m.scales = m.base("own"), m.base("low"), m.base("theirs"), m.base("scales")
	m.count = m.length("scales")
	m.signs = m.everywhere(0x80000000)
	m.moved = m.c.GP64()
	m.c.XORQ(m.moved, m.moved)
	at := m.c.GP64()
	m.c.XORQ(at, at)
	m.loop(n, func() {
		sums := m.sums(at)
		m.c.Comment("Add the sums to acc once, and count what moved.")
		for v, sum := range sums {
			here := acc.Offset(v * m.bytes)
			m.c.VADDPS(here, sum, sum)
			m.c.VMOVUPS(sum, here)
		}
		m.c.POPCNTQ(m.some, m.some)
		m.c.ADDQ(m.some, m.moved)
		m.c.ADDQ(operand.U32(4*m.bytes), acc.Base)
		m.c.ADDQ(operand.U32(m.bytes/8), at)
		m.c.SUBQ(operand.U32(m.bytes), n)
	})
	m.c.Store(m.moved, m.c.ReturnIndex(0))
	m.finish()
}

// word loads as many bits as four vectors have lanes.
func (m *bitMixer) word(base operand.Mem, at reg.GPVirtual) reg.GPVirtual {
	r, here := m.c.GP64(), operand.Mem{Base: base.Base, Index: at, Scale: 1}
	if m.wide {
		m.c.MOVQ(here, r)
	} else {
		m.c.MOVL(here, r.As32())
	}
	return r
}

// sums adds up four vectors over all neighbours, and sets the bits of some where a neighbour differs.
func (m *bitMixer) sums(at reg.GPVirtual) [4]reg.VecVirtual {
	var sums, signs [4]reg.VecVirtual
	m.c.Comment("Make signs of the bits that differ between own symbols and windows.")
	own, down := m.word(m.own, at), m.word(m.low, at)
	m.c.XORQ(own, down) // the window begins below the own index
	zero := m.vector()
	m.clear(zero)
	m.each(down, func(v int, pick func(from, otherwise reg.VecVirtual) reg.VecVirtual) {
		signs[v] = pick(m.signs, zero)
		sums[v] = m.vector()
		m.clear(sums[v])
	})
	m.some = m.c.GP64()
	m.c.XORQ(m.some, m.some)
	theirs, scale, left := m.c.GP64(), m.c.GP64(), m.c.GP64()
	m.c.MOVQ(m.theirs.Base, theirs)
	m.c.MOVQ(m.scales.Base, scale)
	m.c.MOVQ(m.count, left)
	m.c.Label("neighbour")
	m.c.Comment("Find the bits in which one neighbour differs.")
	from, factor := m.c.GP64(), m.vector()
	m.c.MOVQ(operand.Mem{Base: theirs}, from)
	differ := m.word(operand.Mem{Base: from}, at)
	m.c.XORQ(own, differ)
	m.c.ORQ(differ, m.some)
	m.c.VBROADCASTSS(operand.Mem{Base: scale}, factor)
	m.c.Comment("Add the scale, with the sign of the lane, where it does.")
	m.each(differ, func(v int, pick func(from, otherwise reg.VecVirtual) reg.VecVirtual) {
		t := m.vector()
		m.xor(factor, signs[v], t)
		m.c.VADDPS(pick(t, zero), sums[v], sums[v])
	})
	m.c.ADDQ(operand.U32(24), theirs)
	m.c.ADDQ(operand.U32(4), scale)
	m.c.DECQ(left)
	m.c.JNZ(operand.LabelRef("neighbour"))
	return sums
}

// each calls do for four vectors. The function pick selects the lanes whose bits are set in word. It
// overwrites word.
func (m *bitMixer) each(word reg.GPVirtual, do func(v int, pick func(from, otherwise reg.VecVirtual) reg.VecVirtual)) {
	var all reg.VecVirtual
	if !m.wide {
		all = m.vector()
		m.spread(word.As32(), all)
	}
	for v := range 4 {
		do(v, func(from, otherwise reg.VecVirtual) reg.VecVirtual {
			picked := m.vector()
			if m.wide {
				k := m.c.K()
				m.c.KMOVW(word.As32(), k)
				m.c.VMOVDQU32_Z(from, k, picked)
				return picked
			}
			m.c.VPSLLVD(m.table("lane"+string(rune('0'+v)), m.lanesUp(v)...), all, picked) // bit to sign
			m.c.VBLENDVPS(picked, from, otherwise, picked)
			return picked
		})
		if m.wide && v < 3 {
			m.c.SHRQ(operand.U8(16), word)
		}
	}
}

// lanesUp returns the distances of the bits of vector v's lanes from the top.
func (m *bitMixer) lanesUp(v int) []uint32 {
	up := make([]uint32, 8)
	for i := range up {
		up[i] = uint32(31 - 8*v - i)
	}
	return up
}
