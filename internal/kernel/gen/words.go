package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// With AVX-512 the symbol of a residue lies above 16 bits of fraction, or shares 16 bits with it
// before packing. So two vectors become one vector of words as early as possible: then doubts, masks
// and packing serve both at once.

// words holds the operands that stay the same.
type words struct {
	lower, upper reg.VecVirtual // the orders that select halves of the dwords of two vectors
	test         reg.VecVirtual
	two, four    reg.VecVirtual // factors that join the symbols of two and of four coordinates
}

func (z *quantizer) beginWords() {
	z.c.Comment("Load the orders that take every other word of two vectors.")
	z.words.lower, z.words.upper = z.halves("lower", 0), z.halves("upper", 1)
	z.words.test = z.c.ZMM()
	z.c.VPBROADCASTW(z.q.field("Test", 0), z.words.test)
	switch z.packed {
	case 2:
		z.words.two, z.words.four = z.everywhere(1|1<<(2+16)), z.everywhere(1|1<<(4+16))
	case 4:
		z.words.two = z.everywhere(1 | 1<<(4+16))
	}
}

// halves returns the numbers of every other word of two vectors, from first on.
func (z *quantizer) halves(name string, first uint32) reg.VecVirtual {
	var numbers [16]uint32
	for i := range numbers {
		at := uint32(4*i) + first
		numbers[i] = at | (at+2)<<16
	}
	v := z.c.ZMM()
	z.load(z.table(name, numbers[:]...), v)
	return v
}

// wordStep is a step by pairs of vectors. Doubts are so rare that steps without any write nothing.
func (z *quantizer) wordStep() {
	const pairs = step / 32
	var (
		out   [pairs]reg.VecVirtual
		doubt [pairs]reg.OpmaskVirtual
	)
	for p := range out {
		out[p], doubt[p] = z.pair(2 * p)
		if z.packed != 2 {
			z.storePair(p, out[p])
		} else if p%2 == 1 {
			z.storeQuarters(p-1, out[p-1], out[p])
		}
	}
	z.c.Comment("Note doubtful coordinates, if there are any.")
	some, more := z.c.K(), z.c.K()
	z.c.KORD(doubt[0], doubt[1], some)
	z.c.KORD(doubt[2], doubt[3], more)
	z.c.KORTESTD(some, more)
	z.c.JZ(operand.LabelRef("certain"))
	for p, k := range doubt {
		z.c.KMOVD(k, z.doubt.Offset(4*p))
	}
	z.c.MOVL(operand.U32(1), z.doubts.As32())
	z.c.Label("certain")
}

// pair rounds the vectors v and v + 1. It returns their symbols in words and the doubtful words.
// Symbols to pack are the upper bits of the words; others are the lower bits, below bits without
// meaning.
func (z *quantizer) pair(v int) (symbols reg.VecVirtual, doubt reg.OpmaskVirtual) {
	var noise []reg.VecVirtual
	if z.random {
		noise = z.raw(v, v+1)
	}
	z.c.Comment("Split two vectors of x/B into integers and rests.")
	a, b := z.quotient(v), z.quotient(v+1)
	z.c.VPTERNLOGD(operand.U8(0xFE), a, b, z.outside) // a | b | c
	if z.packed > 0 {
		z.c.Comment("Take T from the mantissas, two vectors as one of words, and add the noise.")
		z.c.VPERMT2W(b, z.words.lower, a)
		if z.random {
			z.c.VPERMT2W(noise[1], z.words.upper, noise[0])
			z.c.VPSRLW(operand.U8(z.packed), noise[0], noise[0])
			z.c.VPADDW(noise[0], a, a)
		}
		return a, z.doubtful(a)
	}
	z.c.Comment("Make integers T of the rests, and add the noise.")
	a, b = z.remainder(v, a), z.remainder(v+1, b)
	if z.random {
		for i, e := range []reg.VecVirtual{a, b} {
			z.c.VPSRLD(operand.U8(16), noise[i], noise[i])
			z.c.VPADDD(noise[i], e, e)
		}
	}
	z.c.Comment("Part fractions and symbols, two vectors as one of words.")
	fraction := z.c.ZMM()
	z.c.VMOVDQU32(a, fraction)
	z.c.VPERMT2W(b, z.words.lower, fraction)
	z.c.VPERMT2W(b, z.words.upper, a)
	return a, z.doubtful(fraction)
}

// doubtful returns the words that only the definition can round.
func (z *quantizer) doubtful(fraction reg.VecVirtual) reg.OpmaskVirtual {
	k := z.c.K()
	z.c.VPTESTNMW(z.words.test, fraction, k)
	return k
}

// storePair writes the symbols of pair p.
func (z *quantizer) storePair(p int, symbols reg.VecVirtual) {
	z.c.Comment("Store the symbols of two vectors.")
	switch z.packed {
	case 0:
		z.c.VPMOVWB(symbols, z.dst.Offset(32*p))
	case 1:
		k := z.c.K()
		z.c.VPMOVW2M(symbols, k)
		z.c.KMOVD(k, z.dst.Offset(4*p))
	case 4:
		z.c.VPSRLW(operand.U8(12), symbols, symbols)
		z.c.VPMADDWD(z.words.two, symbols, symbols)
		z.c.VPMOVDB(symbols, z.dst.Offset(16*p))
	}
}

// storeQuarters writes the symbols of two bits of the pairs p and p + 1.
func (z *quantizer) storeQuarters(p int, a, b reg.VecVirtual) {
	z.c.Comment("Store the symbols of four vectors.")
	for _, symbols := range []reg.VecVirtual{a, b} {
		z.c.VPSRLW(operand.U8(14), symbols, symbols)
		z.c.VPMADDWD(z.words.two, symbols, symbols)
	}
	z.c.VPERMT2W(b, z.words.lower, a)
	z.c.VPMADDWD(z.words.four, a, a)
	z.c.VPMOVDB(a, z.dst.Offset(8*p))
}

// mask clears the bits above the symbols in the bytes written, unless the symbols fill
// them.
func (z *quantizer) mask() {
	z.c.Comment("Clear the bits above the symbols, unless they fill their bytes.")
	dst, n, own := z.base("dst"), z.length("x"), z.c.GP32()
	z.c.MOVBLZX(z.q.field("Own", 0), own)
	z.c.CMPL(own, operand.U32(0xFF))
	z.c.JE(operand.LabelRef("masked"))
	symbol := z.c.ZMM()
	z.c.VPBROADCASTB(own, symbol)
	z.c.Label("mask")
	for at := 0; at < step; at += z.bytes {
		v := z.c.ZMM()
		z.c.VPANDD(dst.Offset(at), symbol, v)
		z.store(v, dst.Offset(at))
	}
	z.c.ADDQ(operand.U32(step), dst.Base)
	z.c.SUBQ(operand.U32(step), n)
	z.c.JNZ(operand.LabelRef("mask"))
	z.c.Label("masked")
}
