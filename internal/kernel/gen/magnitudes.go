package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// magnitudes is the largest magnitude of the numbers that something is added to.
type magnitudes struct {
	width
	most  reg.VecVirtual
	signs operand.Op // all bits but the sign
}

func (w width) newMagnitudes() magnitudes {
	m := magnitudes{width: w, most: w.vector()}
	w.clear(m.most)
	if w.wide {
		m.signs = w.everywhere(0x7FFFFFFF)
	} else {
		m.signs = w.same("unsigned", 0x7FFFFFFF)
	}
	return m
}

// add adds sum, which it uses up, to the numbers at m.
func (m magnitudes) add(sum reg.VecVirtual, at operand.Mem) {
	x, size := m.vector(), m.vector()
	m.VMOVUPS(at, x)
	m.VADDPS(x, sum, sum)
	m.and(m.signs, x, size)
	m.VPMAXUD(size, m.most, m.most)
	m.VMOVUPS(sum, at)
}

// largest returns the bits of the largest.
func (m magnitudes) largest() reg.GPVirtual {
	return m.fold(m.most, func(other, v reg.Register) { m.VPMAXUD(other, v, v) })
}
