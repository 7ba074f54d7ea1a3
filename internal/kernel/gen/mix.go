package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// mix writes the two mixers of each tier, see Tier.Mix.
func mix(c *build.Context) {
	for _, w := range widths(c, "mix") {
		(&mixer{width: w}).write("MixNear",
			"func(acc []float32, own []byte, theirs [][]byte, scales []float32) (done, moved, largest int)",
			"mixes len(own) coordinates, a multiple of a vector of bytes, up to the first vector that has a tie.")
		(&mixer{width: w, windows: true}).write("MixTies",
			"func(acc []float32, own, low []byte, theirs [][]byte, scales []float32) (done, moved, largest int)",
			"mixes len(own) coordinates, a multiple of a vector of bytes.")
	}
}

// A mixer writes one function.
type mixer struct {
	width
	windows bool // low ends of windows are given, and decide ties

	acc, own, low, theirs, scales operand.Mem
	count, moved                  reg.GPVirtual
	order, peak, signs            reg.VecVirtual
	pick                          [4]operand.Op
}

func (m *mixer) write(name, signature, doc string) {
	function(m.Context, name+m.tier, signature, doc)
	m.Comment("Load the arguments and what stays the same: byte orders, peaks, counts.")
	m.acc, m.own, m.theirs, m.scales = m.base("acc"), m.base("own"), m.base("theirs"), m.base("scales")
	m.count = m.length("scales")
	if m.windows {
		m.low = m.base("low")
		m.signs = m.everywhere(0x80808080)
	}
	m.order = m.vector()
	if m.wide {
		m.load(m.ordered(), m.order)
	} else {
		m.load(m.table("halves", 0, 2, 4, 6, 1, 3, 5, 7), m.order)
	}
	m.peak = m.vector()
	m.clear(m.peak)
	m.moved = m.GP64()
	m.XORQ(m.moved, m.moved)
	for v := range m.pick {
		m.pick[v] = m.top(v)
	}
	n := m.length("own")
	at := m.GP64()
	m.XORQ(at, at)
	m.loop(n, func() {
		m.block(at)
		m.ADDQ(operand.U32(4*m.bytes), m.acc.Base)
		m.ADDQ(operand.U32(m.bytes), at)
		m.SUBQ(operand.U32(m.bytes), n)
	})
	m.Comment("Return the coordinates done, those that moved, and the largest difference.")
	m.Store(at, m.ReturnIndex(0))
	m.Store(m.moved, m.ReturnIndex(1))
	m.Store(m.largestByte(m.peak), m.ReturnIndex(2))
	m.finish()
}

// top returns how bytes 4v to 4v+3 of each 128 bits get to the top of dwords.
func (m *mixer) top(v int) operand.Op {
	var words []uint32
	for range m.bytes / 16 {
		for i := range 4 {
			words = append(words, uint32(4*v+i)<<24|0x808080)
		}
	}
	table := m.table("top"+string(rune('0'+v))+m.tier, words...)
	if !m.wide {
		return table
	}
	r := m.vector()
	m.load(table, r)
	return r
}

// block mixes one vector of bytes, four of floats.
func (m *mixer) block(at reg.GPVirtual) {
	here := func(base operand.Mem) operand.Mem { return operand.Mem{Base: base.Base, Index: at, Scale: 1} }
	m.Comment("Load the own symbols of a vector of coordinates, and where the window tells a tie.")
	own, up := m.vector(), m.vector()
	m.load(here(m.own), own)
	if m.windows {
		m.upwards(own, here(m.low), up)
	}
	var sums [4]reg.VecVirtual
	for v := range sums {
		sums[v] = m.vector()
		m.clear(sums[v])
	}
	peak := m.vector()
	m.clear(peak)
	m.neighbours(at, own, up, peak, sums)
	if !m.windows {
		m.Comment("Stop before the block if a difference is a tie.")
		m.stop(peak)
	}
	m.Comment("Add the sums to acc once, and count what moved.")
	for v, sum := range sums {
		m.VADDPS(m.acc.Offset(v*m.bytes), sum, sum)
		m.VMOVUPS(sum, m.acc.Offset(v*m.bytes))
	}
	m.VPMAXUB(peak, m.peak, m.peak)
	m.countMoved(peak)
}

// neighbours writes the loop over the neighbours of one block: sums and peak of the
// differences to own.
func (m *mixer) neighbours(at reg.GPVirtual, own, up, peak reg.VecVirtual, sums [4]reg.VecVirtual) {
	theirs, scale, left := m.GP64(), m.GP64(), m.GP64()
	m.MOVQ(m.theirs.Base, theirs)
	m.MOVQ(m.scales.Base, scale)
	m.MOVQ(m.count, left)
	m.Label("neighbour")
	m.Comment("Subtract symbols modulo 256: the difference nearest to 0.")
	from, difference, t := m.GP64(), m.vector(), m.vector()
	m.MOVQ(operand.Mem{Base: theirs}, from)
	m.load(operand.Mem{Base: from, Index: at, Scale: 1}, difference)
	m.VPSUBB(own, difference, difference)
	m.VPABSB(difference, t)
	m.VPMAXUB(t, peak, peak)
	var flip reg.VecVirtual
	if m.windows {
		m.Comment("Find the ties that mean +N/2: their sign is turned.")
		flip = m.ties(difference, up)
		m.VPERMD(flip, m.order, flip)
	}
	m.Comment("Spread the differences to floats, times 2²⁴, and add them with the scale.")
	m.VPERMD(difference, m.order, difference)
	factor := m.vector()
	m.VBROADCASTSS(operand.Mem{Base: scale}, factor)
	for v, sum := range sums {
		m.VPSHUFB(m.pick[v], difference, t)
		m.VCVTDQ2PS(t, t)
		if m.windows {
			sign := m.vector()
			m.VPSHUFB(m.pick[v], flip, sign)
			m.xor(sign, t, t)
		}
		m.VMULPS(factor, t, t)
		m.VADDPS(t, sum, sum)
	}
	m.ADDQ(operand.U32(24), theirs)
	m.ADDQ(operand.U32(4), scale)
	m.DECQ(left)
	m.JNZ(operand.LabelRef("neighbour"))
}

// upwards sets the top bit of the bytes of up whose window begins above
// own − N/2, so that a tie is a difference of +N/2.
func (m *mixer) upwards(own reg.VecVirtual, low operand.Mem, up reg.VecVirtual) {
	m.VPSUBB(m.signs, own, up)
	if m.wide {
		k := m.K()
		m.VPCMPB(differs, low, up, k)
		m.VMOVDQU8_Z(m.signs, k, up)
		return
	}
	m.VPCMPEQB(low, up, up)
	m.VPANDN(m.signs, up, up)
}

// ties returns the top bits of up where difference is a tie.
func (m *mixer) ties(difference, up reg.VecVirtual) reg.VecVirtual {
	flip := m.vector()
	if m.wide {
		k := m.K()
		m.VPCMPEQB(m.signs, difference, k)
		m.VMOVDQU8_Z(up, k, flip)
		return flip
	}
	m.VPCMPEQB(m.signs, difference, flip)
	m.VPAND(up, flip, flip)
	return flip
}

// stop ends the loop if a difference has the top bit.
func (m *mixer) stop(peak reg.VecVirtual) {
	if m.wide {
		k := m.K()
		m.VPMOVB2M(peak, k)
		m.KORTESTQ(k, k)
	} else {
		r := m.GP32()
		m.VPMOVMSKB(peak, r)
		m.TESTL(r, r)
	}
	m.JNZ(operand.LabelRef("done"))
}

// largestByte folds v in halves.
func (m *mixer) largestByte(v reg.VecVirtual) reg.GPVirtual {
	if m.wide {
		half := m.YMM()
		m.VEXTRACTI64X4(operand.U8(1), v, half)
		m.VPMAXUB(half, v.AsY(), v.AsY())
	}
	half, r := m.XMM(), m.GP64()
	m.VEXTRACTI128(operand.U8(1), v.AsY(), half)
	m.VPMAXUB(half, v.AsX(), v.AsX())
	for bytes := uint8(8); bytes > 0; bytes /= 2 {
		m.VPSRLDQ(operand.U8(bytes), v.AsX(), half)
		m.VPMAXUB(half, v.AsX(), v.AsX())
	}
	m.VMOVD(v.AsX(), r.As32())
	m.MOVBQZX(r.As8(), r)
	return r
}

// countMoved counts the bytes that are not 0.
func (m *mixer) countMoved(peak reg.VecVirtual) {
	r := m.GP64()
	if m.wide {
		k := m.K()
		m.VPTESTMB(peak, peak, k)
		m.KMOVQ(k, r)
		m.POPCNTQ(r, r)
		m.ADDQ(r, m.moved)
		return
	}
	zero := m.vector()
	m.clear(zero)
	m.VPCMPEQB(zero, peak, zero)
	m.VPMOVMSKB(zero, r.As32())
	m.POPCNTL(r.As32(), r.As32())
	m.ADDQ(operand.U32(32), m.moved)
	m.SUBQ(r, m.moved)
}
