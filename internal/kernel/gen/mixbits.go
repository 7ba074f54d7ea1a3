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

// A bitMixer writes one function. Where symbols differ the sign of the difference
// is the same for all neighbours, so a sum takes the scale of each with that sign.
type bitMixer struct {
	width
	low, own, theirs, scales operand.Mem
	count, some, moved       reg.GPVirtual
	signs                    reg.VecVirtual
}

func (m *bitMixer) write() {
	function(m.Context, "MixBits"+m.tier,
		"func(acc []float32, own, low []byte, theirs [][]byte, scales []float32) (moved int)",
		"mixes len(acc) coordinates, a multiple of 64.")
	m.Comment("Load the arguments; nothing has moved yet.")
	acc, n := m.base("acc"), m.length("acc")
	m.own, m.low, m.theirs, m.scales = m.base("own"), m.base("low"), m.base("theirs"), m.base("scales")
	m.count = m.length("scales")
	m.signs = m.everywhere(0x80000000)
	m.moved = m.GP64()
	m.XORQ(m.moved, m.moved)
	at := m.GP64()
	m.XORQ(at, at)
	m.loop(n, func() {
		sums := m.sums(at)
		m.Comment("Add the sums to acc once, and count what moved.")
		for v, sum := range sums {
			here := acc.Offset(v * m.bytes)
			m.VADDPS(here, sum, sum)
			m.VMOVUPS(sum, here)
		}
		m.POPCNTQ(m.some, m.some)
		m.ADDQ(m.some, m.moved)
		m.ADDQ(operand.U32(4*m.bytes), acc.Base)
		m.ADDQ(operand.U32(m.bytes/8), at)
		m.SUBQ(operand.U32(m.bytes), n)
	})
	m.Store(m.moved, m.ReturnIndex(0))
	m.finish()
}

// word loads as many bits as four vectors have lanes.
func (m *bitMixer) word(base operand.Mem, at reg.GPVirtual) reg.GPVirtual {
	r, here := m.GP64(), operand.Mem{Base: base.Base, Index: at, Scale: 1}
	if m.wide {
		m.MOVQ(here, r)
	} else {
		m.MOVL(here, r.As32())
	}
	return r
}

// sums adds up four vectors over all neighbours, and sets the bits of some where
// one of these differs.
func (m *bitMixer) sums(at reg.GPVirtual) [4]reg.VecVirtual {
	var sums, signs [4]reg.VecVirtual
	m.Comment("Make signs of the bits that differ between own symbols and windows.")
	own, down := m.word(m.own, at), m.word(m.low, at)
	m.XORQ(own, down) // the window begins below the own index
	zero := m.vector()
	m.clear(zero)
	m.each(down, func(v int, pick func(from, otherwise reg.VecVirtual) reg.VecVirtual) {
		signs[v] = pick(m.signs, zero)
		sums[v] = m.vector()
		m.clear(sums[v])
	})
	m.some = m.GP64()
	m.XORQ(m.some, m.some)
	theirs, scale, left := m.GP64(), m.GP64(), m.GP64()
	m.MOVQ(m.theirs.Base, theirs)
	m.MOVQ(m.scales.Base, scale)
	m.MOVQ(m.count, left)
	m.Label("neighbour")
	m.Comment("Find the bits in which one neighbour differs.")
	from, factor := m.GP64(), m.vector()
	m.MOVQ(operand.Mem{Base: theirs}, from)
	differ := m.word(operand.Mem{Base: from}, at)
	m.XORQ(own, differ)
	m.ORQ(differ, m.some)
	m.VBROADCASTSS(operand.Mem{Base: scale}, factor)
	m.Comment("Add the scale, with the sign of the lane, where it does.")
	m.each(differ, func(v int, pick func(from, otherwise reg.VecVirtual) reg.VecVirtual) {
		t := m.vector()
		m.xor(factor, signs[v], t)
		m.VADDPS(pick(t, zero), sums[v], sums[v])
	})
	m.ADDQ(operand.U32(24), theirs)
	m.ADDQ(operand.U32(4), scale)
	m.DECQ(left)
	m.JNZ(operand.LabelRef("neighbour"))
	return sums
}

// each calls do for four vectors, with what picks the lanes whose bits of word,
// which it uses up, are set.
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
				k := m.K()
				m.KMOVW(word.As32(), k)
				m.VMOVDQU32_Z(from, k, picked)
				return picked
			}
			m.VPSLLVD(m.table("lane"+string(rune('0'+v)), m.lanesUp(v)...), all, picked) // to the sign
			m.VBLENDVPS(picked, from, otherwise, picked)
			return picked
		})
		if m.wide && v < 3 {
			m.SHRQ(operand.U8(16), word)
		}
	}
}

// lanesUp returns how far the bits of the lanes of vector v are from the top.
func (m *bitMixer) lanesUp(v int) []uint32 {
	up := make([]uint32, 8)
	for i := range up {
		up[i] = uint32(31 - 8*v - i)
	}
	return up
}
