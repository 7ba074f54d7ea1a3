package main

import (
	"strconv"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Widths that do not divide 8: eight symbols are b bytes. Sixteen symbols, in 128 bits, are read or
// written as 16 bytes; only the first 2b count. So the caller leaves 32 symbols over.

// words fills a vector of 8 dwords from memory.
func (w width) words(name string, words ...uint32) reg.VecVirtual {
	for len(words) < 8 {
		words = append(words, words...)
	}
	v := w.vector()
	w.load(w.table(name, words...), v)
	return v
}

// shuffle returns a byte order as four words.
func shuffle(from func(at int) int) []uint32 {
	words := make([]uint32, 4)
	for at := range 16 {
		words[at/4] |= uint32(from(at)&0xFF) << (at % 4 * 8)
	}
	return words
}

// packOdd joins symbols to words of 2b bits, to dwords of 4b, to qwords of 8b.
func packOdd(w width, bits int) {
	b, name := uint(bits), strconv.Itoa(bits)
	function(w.c, "Pack"+name+w.tier, "func(dst, symbols []byte)",
		"packs len(symbols) symbols, a multiple of 32, and writes up to 10 bytes more.")
	w.c.Comment("Load the factors that join symbols, and the order of the bytes that count.")
	symbols, dst, n := w.base("symbols"), w.base("dst"), w.length("symbols")
	pairs, fours := w.everywhere(0x00010001|1<<(8+b)|1<<(24+b)), w.everywhere(1|1<<(16+2*b))
	up := w.words("up"+name, uint32(32-4*b), 0)
	order := w.words("bytes"+name, shuffle(func(at int) int {
		switch {
		case at < bits:
			return at
		case at < 2*bits:
			return 8 + at - bits
		}
		return 0x80
	})...)
	w.loop(n, func() {
		w.c.Comment("Join symbols to pairs, fours and eights; move those together.")
		v := w.vector()
		w.c.VPMADDUBSW(symbols, pairs, v)
		w.c.VPMADDWD(fours, v, v)
		w.c.VPSLLVD(up, v, v)
		w.c.VPSRLQ(operand.U8(32-4*b), v, v)
		w.c.VPSHUFB(order, v, v)
		w.c.VMOVDQU(v.AsX(), dst)
		w.c.VEXTRACTI128(operand.U8(1), v, dst.Offset(2*bits))
		w.c.ADDQ(operand.U32(32), symbols.Base)
		w.c.ADDQ(operand.U32(4*b), dst.Base)
		w.c.SUBQ(operand.U32(32), n)
	})
	w.finish()
}

// unpackOdd splits bits into dwords of four symbols, words of two, and bytes of one.
func unpackOdd(w width, bits int) {
	b, name := uint(bits), strconv.Itoa(bits)
	function(w.c, "Unpack"+name+w.tier, "func(symbols, src []byte)",
		"unpacks len(symbols) symbols, a multiple of 32, to the upper bits of bytes, and reads up to 10 bytes more.")
	w.c.Comment("Load the order of the bytes and the masks of symbols.")
	symbols, src, n := w.base("symbols"), w.base("src"), w.length("symbols")
	order := w.words("dwords"+name, shuffle(func(at int) int {
		return at/8*bits + at%8/4*(4*bits/8) + at%4
	})...)
	down := w.words("down"+name, 0, uint32(4*b%8))
	mask, odd := w.everywhere((1<<b-1)*0x01010101), w.everywhere(0xFF00FF00)
	w.loop(n, func() {
		w.c.Comment("Part the bits into dwords of four symbols, words of two, and bytes.")
		v, t := w.vector(), w.vector()
		w.c.VMOVDQU(src, v.AsX())
		w.c.VINSERTI128(operand.U8(1), src.Offset(2*bits), v, v)
		w.c.VPSHUFB(order, v, v)
		w.c.VPSRLVD(down, v, v)
		w.c.VPSLLD(operand.U8(16-2*b), v, t)
		w.c.VPBLENDW(operand.U8(0xAA), t, v, v)
		w.c.VPSLLW(operand.U8(8-b), v, t)
		w.c.VPBLENDVB(odd, t, v, v)
		w.c.VPAND(mask, v, v)
		w.c.VPSLLW(operand.U8(8-b), v, v)
		w.store(v, symbols)
		w.c.ADDQ(operand.U32(32), symbols.Base)
		w.c.ADDQ(operand.U32(4*b), src.Base)
		w.c.SUBQ(operand.U32(32), n)
	})
	w.finish()
}
