package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// mix writes the mixing of symbols, see Tier.Mix, and the search for ties.
func mix(c *build.Context) {
	for _, w := range widths(c, "mix") {
		(&mixer{width: w}).write("mixNear", "func(acc []float32, own []byte, theirs [][]byte, scales []float32, mask, half uint32, peak *[64]byte) (moved int)")
		(&mixer{width: w, windows: true}).write("mixAny", "func(acc []float32, own, low []byte, theirs [][]byte, scales []float32, mask uint32, peak *[64]byte) (moved int)")
		ties(w)
	}
}

// A mixer writes one function.
type mixer struct {
	width
	windows bool

	acc, own, low, theirs, scales operand.Mem
	count, moved                  reg.GPVirtual
	mask, half, order, unit, peak reg.VecVirtual
	pick                          [4]operand.Op
}

func (m *mixer) write(name, signature string) {
	function(m.Context, name+m.tier, signature, "mixes len(own) coordinates, a multiple of a vector of bytes.")
	m.acc, m.own, m.theirs, m.scales = m.base("acc"), m.base("own"), m.base("theirs"), m.base("scales")
	m.count = m.length("scales")
	m.mask = m.parameter("mask")
	if m.windows {
		m.low = m.base("low")
	} else {
		m.half = m.parameter("half")
	}
	m.order = m.vector()
	if m.wide {
		m.load(m.ordered(), m.order)
	} else {
		m.load(m.table("halves", 0, 2, 4, 6, 1, 3, 5, 7), m.order)
	}
	m.unit = m.everywhere(0x33800000) // 2⁻²⁴
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
	peak := m.GP64()
	m.Load(m.Param("peak"), peak)
	m.store(m.peak, operand.Mem{Base: peak})
	m.Store(m.moved, m.ReturnIndex(0))
	m.finish()
}

// parameter fills a vector with an argument.
func (m *mixer) parameter(name string) reg.VecVirtual {
	r, v := m.GP32(), m.vector()
	m.Load(m.Param(name), r)
	m.spread(r, v)
	return v
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
	low, place := m.vector(), m.half // of the own index in its window
	m.load(here(m.own), low)
	if m.windows {
		place = m.vector()
		own := low
		low = m.vector()
		m.load(here(m.low), low)
		m.VPSUBB(low, own, place)
		m.and(m.mask, place, place)
	} else {
		m.VPSUBB(m.half, low, low)
	}
	var sums [4]reg.VecVirtual
	for v := range sums {
		sums[v] = m.vector()
		m.clear(sums[v])
	}
	peak := m.vector()
	m.clear(peak)
	theirs, scale, left := m.GP64(), m.GP64(), m.GP64()
	m.MOVQ(m.theirs.Base, theirs)
	m.MOVQ(m.scales.Base, scale)
	m.MOVQ(m.count, left)
	m.Label("neighbour")
	from, difference, t := m.GP64(), m.vector(), m.vector()
	m.MOVQ(operand.Mem{Base: theirs}, from)
	m.load(operand.Mem{Base: from, Index: at, Scale: 1}, difference)
	m.VPSUBB(low, difference, difference)
	m.and(m.mask, difference, difference)
	m.VPSUBB(place, difference, difference)
	m.VPABSB(difference, t)
	m.VPMAXUB(t, peak, peak)
	m.VPERMD(difference, m.order, difference)
	factor := m.vector()
	m.VBROADCASTSS(operand.Mem{Base: scale}, factor)
	m.VMULPS(m.unit, factor, factor)
	for v, sum := range sums {
		m.VPSHUFB(m.pick[v], difference, t)
		m.VCVTDQ2PS(t, t)
		m.VMULPS(factor, t, t)
		m.VADDPS(t, sum, sum)
	}
	m.ADDQ(operand.U32(24), theirs)
	m.ADDQ(operand.U32(4), scale)
	m.DECQ(left)
	m.JNZ(operand.LabelRef("neighbour"))
	for v, sum := range sums {
		m.VADDPS(m.acc.Offset(v*m.bytes), sum, sum)
		m.VMOVUPS(sum, m.acc.Offset(v*m.bytes))
	}
	m.VPMAXUB(peak, m.peak, m.peak)
	m.countMoved(peak)
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

// ties writes the search for differences of half a window.
func ties(w width) {
	function(w.Context, "ties"+w.tier, "func(own, theirs []byte, mask, half uint32) uint32", "reports whether a symbol is N/2 away, modulo N; len(own) is a multiple of a vector of bytes.")
	m := &mixer{width: w}
	own, theirs, n := m.base("own"), m.base("theirs"), m.length("own")
	mask, half := m.parameter("mask"), m.parameter("half")
	found := m.vector()
	m.clear(found)
	seen, k := m.GP64(), m.K()
	m.XORQ(seen, seen)
	m.loop(n, func() {
		v := m.vector()
		m.load(theirs, v)
		m.VPSUBB(own, v, v)
		m.and(mask, v, v)
		if m.wide {
			r := m.GP64()
			m.VPCMPEQB(half, v, k)
			m.KMOVQ(k, r)
			m.ORQ(r, seen)
		} else {
			m.VPCMPEQB(half, v, v)
			m.VPOR(v, found, found)
		}
		m.ADDQ(operand.U32(m.bytes), own.Base)
		m.ADDQ(operand.U32(m.bytes), theirs.Base)
		m.SUBQ(operand.U32(m.bytes), n)
	})
	if !m.wide {
		m.VPMOVMSKB(found, seen.As32())
	}
	r := m.GP32()
	m.XORL(r, r)
	m.TESTQ(seen, seen)
	m.SETNE(r.As8())
	m.Store(r, m.ReturnIndex(0))
	m.finish()
}
