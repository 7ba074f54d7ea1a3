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
	windows bool // the low ends of windows are given, and decide ties

	acc, own, low, theirs, scales operand.Mem
	count, moved                  reg.GPVirtual
	order, peak, signs            reg.VecVirtual
	pick                          [4]operand.Op
}

func (m *mixer) write(name, signature, doc string) {
	function(m.c, name+m.tier, signature, doc)
	m.c.Comment("Load the arguments and the constants: byte orders, peaks, counts.")
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
	m.moved = m.c.GP64()
	m.c.XORQ(m.moved, m.moved)
	for v := range m.pick {
		m.pick[v] = m.top(v)
	}
	n := m.length("own")
	at := m.c.GP64()
	m.c.XORQ(at, at)
	m.loop(n, func() {
		m.block(at)
		m.c.ADDQ(operand.U32(4*m.bytes), m.acc.Base)
		m.c.ADDQ(operand.U32(m.bytes), at)
		m.c.SUBQ(operand.U32(m.bytes), n)
	})
	m.c.Comment("Return the coordinates done, those that moved, and the largest difference.")
	m.c.Store(at, m.c.ReturnIndex(0))
	m.c.Store(m.moved, m.c.ReturnIndex(1))
	m.c.Store(m.largestByte(m.peak), m.c.ReturnIndex(2))
	m.finish()
}

// top returns the byte order that moves bytes 4v to 4v+3 of each 128 bits to the top of dwords.
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
	m.c.Comment("Load the own symbols of a vector of coordinates, and where the window tells a tie.")
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
		m.c.Comment("Stop before the block if a difference is a tie.")
		m.stop(peak)
	}
	m.c.Comment("Add the sums to acc once, and count what moved.")
	for v, sum := range sums {
		m.c.VADDPS(m.acc.Offset(v*m.bytes), sum, sum)
		m.c.VMOVUPS(sum, m.acc.Offset(v*m.bytes))
	}
	m.c.VPMAXUB(peak, m.peak, m.peak)
	m.countMoved(peak)
}

// neighbours writes the loop over the neighbours of one block: sums and peak of the
// differences to own.
func (m *mixer) neighbours(at reg.GPVirtual, own, up, peak reg.VecVirtual, sums [4]reg.VecVirtual) {
	theirs, scale, left := m.c.GP64(), m.c.GP64(), m.c.GP64()
	m.c.MOVQ(m.theirs.Base, theirs)
	m.c.MOVQ(m.scales.Base, scale)
	m.c.MOVQ(m.count, left)
	m.c.Label("neighbour")
	m.c.Comment("Subtract symbols modulo 256: the difference nearest to 0.")
	from, difference, t := m.c.GP64(), m.vector(), m.vector()
	m.c.MOVQ(operand.Mem{Base: theirs}, from)
	m.load(operand.Mem{Base: from, Index: at, Scale: 1}, difference)
	m.c.VPSUBB(own, difference, difference)
	m.c.VPABSB(difference, t)
	m.c.VPMAXUB(t, peak, peak)
	var flip reg.VecVirtual
	if m.windows {
		m.c.Comment("Find the ties that mean +N/2: their sign is turned.")
		flip = m.ties(difference, up)
		m.c.VPERMD(flip, m.order, flip)
	}
	m.c.Comment("Spread the differences to floats, times 2²⁴, and add them with the scale.")
	m.c.VPERMD(difference, m.order, difference)
	factor := m.vector()
	m.c.VBROADCASTSS(operand.Mem{Base: scale}, factor)
	for v, sum := range sums {
		m.c.VPSHUFB(m.pick[v], difference, t)
		m.c.VCVTDQ2PS(t, t)
		if m.windows {
			sign := m.vector()
			m.c.VPSHUFB(m.pick[v], flip, sign)
			m.xor(sign, t, t)
		}
		m.c.VMULPS(factor, t, t)
		m.c.VADDPS(t, sum, sum)
	}
	m.c.ADDQ(operand.U32(24), theirs)
	m.c.ADDQ(operand.U32(4), scale)
	m.c.DECQ(left)
	m.c.JNZ(operand.LabelRef("neighbour"))
}

// upwards sets the top bit of the bytes of up where the window begins above own − N/2. There a tie is
// a difference of +N/2.
func (m *mixer) upwards(own reg.VecVirtual, low operand.Mem, up reg.VecVirtual) {
	m.c.VPSUBB(m.signs, own, up)
	if m.wide {
		k := m.c.K()
		m.c.VPCMPB(differs, low, up, k)
		m.c.VMOVDQU8_Z(m.signs, k, up)
		return
	}
	m.c.VPCMPEQB(low, up, up)
	m.c.VPANDN(m.signs, up, up)
}

// ties returns the top bits of up where difference is a tie.
func (m *mixer) ties(difference, up reg.VecVirtual) reg.VecVirtual {
	flip := m.vector()
	if m.wide {
		k := m.c.K()
		m.c.VPCMPEQB(m.signs, difference, k)
		m.c.VMOVDQU8_Z(up, k, flip)
		return flip
	}
	m.c.VPCMPEQB(m.signs, difference, flip)
	m.c.VPAND(up, flip, flip)
	return flip
}

// stop ends the loop if a difference has the top bit.
func (m *mixer) stop(peak reg.VecVirtual) {
	if m.wide {
		k := m.c.K()
		m.c.VPMOVB2M(peak, k)
		m.c.KORTESTQ(k, k)
	} else {
		r := m.c.GP32()
		m.c.VPMOVMSKB(peak, r)
		m.c.TESTL(r, r)
	}
	m.c.JNZ(operand.LabelRef("done"))
}

// largestByte folds v in halves.
func (m *mixer) largestByte(v reg.VecVirtual) reg.GPVirtual {
	if m.wide {
		half := m.c.YMM()
		m.c.VEXTRACTI64X4(operand.U8(1), v, half)
		m.c.VPMAXUB(half, v.AsY(), v.AsY())
	}
	half, r := m.c.XMM(), m.c.GP64()
	m.c.VEXTRACTI128(operand.U8(1), v.AsY(), half)
	m.c.VPMAXUB(half, v.AsX(), v.AsX())
	for bytes := uint8(8); bytes > 0; bytes /= 2 {
		m.c.VPSRLDQ(operand.U8(bytes), v.AsX(), half)
		m.c.VPMAXUB(half, v.AsX(), v.AsX())
	}
	m.c.VMOVD(v.AsX(), r.As32())
	m.c.MOVBQZX(r.As8(), r)
	return r
}

// countMoved counts the bytes that are not 0.
func (m *mixer) countMoved(peak reg.VecVirtual) {
	r := m.c.GP64()
	if m.wide {
		k := m.c.K()
		m.c.VPTESTMB(peak, peak, k)
		m.c.KMOVQ(k, r)
		m.c.POPCNTQ(r, r)
		m.c.ADDQ(r, m.moved)
		return
	}
	zero := m.vector()
	m.clear(zero)
	m.c.VPCMPEQB(zero, peak, zero)
	m.c.VPMOVMSKB(zero, r.As32())
	m.c.POPCNTL(r.As32(), r.As32())
	m.c.ADDQ(operand.U32(32), m.moved)
	m.c.SUBQ(r, m.moved)
}
