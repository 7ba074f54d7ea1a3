package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The multipliers of package rng, see docs/format/random.md#the-generator.
const (
	golden = 0x9E3779B1
	second = 0x7FEB352D
	third  = 0x846CA68B
)

// A stream draws the random numbers of package rng for consecutive indices from any one on: one vector
// of raw numbers after another.
type stream struct {
	width
	index, key0, key1            reg.VecVirtual
	golden, second, third, after operand.Op
}

// newStream begins at the argument first, with the key in the arguments k0 and k1.
func (w width) newStream() stream {
	w.c.Comment("Load the key and the first indices of the random numbers.")
	s := stream{width: w, index: w.argument("first"), key0: w.argument("k0"), key1: w.argument("k1")}
	w.c.VPADDD(w.table("counting", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), s.index, s.index)
	s.golden, s.second, s.third = s.word("golden", golden), s.word("second", second), s.word("third", third)
	s.after = s.word("after"+w.tier, uint32(w.bytes/4))
	return s
}

// word returns a constant: AVX2 has half the registers, so there it stays in memory.
func (s stream) word(name string, value uint32) operand.Op {
	if s.wide {
		return s.everywhere(value)
	}
	return s.same(name, value)
}

// raw draws n vectors, side by side: each step depends on the one before. It leaves out the last step
// of the generator, which changes the lower 16 bits.
func (s stream) raw(n int) []reg.VecVirtual {
	s.c.Comment("Draw random numbers.")
	r, t := make([]reg.VecVirtual, n), make([]reg.VecVirtual, n)
	each := func(do func(r, t reg.VecVirtual)) {
		for i := range r {
			do(r[i], t[i])
		}
	}
	for i := range r {
		r[i], t[i] = s.vector(), s.vector()
		s.xor(s.key0, s.index, r[i])
		s.c.VPADDD(s.after, s.index, s.index)
	}
	each(func(r, _ reg.VecVirtual) { s.c.VPMULLD(s.golden, r, r) })
	each(func(r, t reg.VecVirtual) { s.c.VPSRLD(operand.U8(16), r, t) })
	each(func(r, t reg.VecVirtual) { s.xor(t, r, r) })
	each(func(r, _ reg.VecVirtual) { s.c.VPADDD(s.key1, r, r) })
	each(func(r, _ reg.VecVirtual) { s.c.VPMULLD(s.second, r, r) })
	each(func(r, t reg.VecVirtual) { s.c.VPSRLD(operand.U8(15), r, t) })
	each(func(r, t reg.VecVirtual) { s.xor(t, r, r) })
	each(func(r, _ reg.VecVirtual) { s.c.VPMULLD(s.third, r, r) })
	return r
}
