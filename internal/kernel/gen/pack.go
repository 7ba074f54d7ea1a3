package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// pack writes the packing of symbols 0..2^b−1, one per byte, to b bits each, and
// back, a vector of symbols at a time.
func pack(c *build.Context) {
	all := widths(c, "pack")
	for _, bits := range []int{3, 5, 6, 7} {
		packOdd(all[0], bits)
		unpackOdd(all[0], bits)
	}
	for _, w := range all {
		for _, bits := range []int{1, 2, 4} {
			name := map[int]string{1: "1", 2: "2", 4: "4"}[bits] + w.tier
			function(c, "Pack"+name, "func(dst, symbols []byte)", "packs len(symbols) symbols, a multiple of a vector.")
			w.c.Comment("Load the arguments and the constants.")
			symbols, dst, n := w.base("symbols"), w.base("dst"), w.length("symbols")
			write := map[int]func(width) func(symbols, dst operand.Mem){1: width.pack1, 2: width.pack2,
				4: width.pack4}[bits](w)
			w.loop(n, func() {
				w.c.Comment("Pack one vector.")
				write(symbols, dst)
				w.c.ADDQ(operand.U32(w.bytes), symbols.Base)
				w.c.ADDQ(operand.U32(w.bytes*bits/8), dst.Base)
				w.c.SUBQ(operand.U32(w.bytes), n)
			})
			w.finish()

			function(c, "Unpack"+name, "func(symbols, src []byte)",
				"unpacks len(symbols) symbols, a multiple of a vector, to the upper bits of bytes.")
			w.c.Comment("Load the arguments and the constants.")
			symbols, src, n := w.base("symbols"), w.base("src"), w.length("symbols")
			read := map[int]func(width) func(src operand.Mem) reg.VecVirtual{1: width.unpack1, 2: width.unpack2,
				4: width.unpack4}[bits](w)
			w.loop(n, func() {
				w.c.Comment("Unpack one vector.")
				w.store(read(src), symbols)
				w.c.ADDQ(operand.U32(w.bytes), symbols.Base)
				w.c.ADDQ(operand.U32(w.bytes*bits/8), src.Base)
				w.c.SUBQ(operand.U32(w.bytes), n)
			})
			w.finish()
		}
		raise(w)
		narrowWords(w)
		widenWords(w)
	}
}

// narrowWords writes the conversion of symbols of 16 bits to bytes, before packing.
func narrowWords(w width) {
	function(w.c, "NarrowWords"+w.tier, "func(dst []byte, words []uint16) (seen uint32)",
		"writes the lower bytes of words; len(dst) is a multiple of 64. "+
			"It returns the bits that pairs of words have, for their caller to find a word that fits no byte.")
	w.c.Comment("Load the arguments; no bit has been seen.")
	dst, words, n := w.base("dst"), w.base("words"), w.length("dst")
	seen, bytes := w.vector(), w.vector()
	w.clear(seen)
	if !w.wide {
		w.load(w.same("bytes", 0x00FF00FF), bytes)
	}
	w.loop(n, func() {
		w.c.Comment("Note the bits of two vectors of words, and store their lower bytes.")
		a, b := w.vector(), w.vector()
		w.load(words, a)
		w.load(words.Offset(w.bytes), b)
		w.or(a, seen, seen)
		w.or(b, seen, seen)
		if w.wide {
			w.c.VPMOVWB(a, dst)
			w.c.VPMOVWB(b, dst.Offset(w.bytes/2))
		} else {
			w.and(bytes, a, a)
			w.and(bytes, b, b)
			w.c.VPACKUSWB(b, a, a)
			w.c.VPERMQ(operand.U8(0b11011000), a, a)
			w.store(a, dst)
		}
		w.c.ADDQ(operand.U32(2*w.bytes), words.Base)
		w.c.ADDQ(operand.U32(w.bytes), dst.Base)
		w.c.SUBQ(operand.U32(w.bytes), n)
	})
	w.c.Comment("Join the lanes, half with half.")
	w.c.Store(w.fold(seen, func(other, v reg.Register) { w.or(other, v, v) }), w.c.ReturnIndex(0))
	w.finish()
}

// widenWords writes the inverse, after unpacking.
func widenWords(w width) {
	function(w.c, "WidenWords"+w.tier, "func(words []uint16, src []byte, shift uint64)",
		"writes src >> shift; len(words) is a multiple of 64.")
	w.c.Comment("Load the arguments.")
	words, src, n, shift := w.base("words"), w.base("src"), w.length("words"), w.c.XMM()
	r := w.c.GP64()
	w.c.Load(w.c.Param("shift"), r)
	w.c.VMOVQ(r, shift)
	w.loop(n, func() {
		w.c.Comment("Spread one vector of bytes to two of words.")
		for half := range 2 {
			v := w.vector()
			w.c.VPMOVZXBW(src.Offset(half*w.bytes/2), v)
			w.c.VPSRLW(shift, v, v)
			w.store(v, words.Offset(half*w.bytes))
		}
		w.c.ADDQ(operand.U32(w.bytes), src.Base)
		w.c.ADDQ(operand.U32(2*w.bytes), words.Base)
		w.c.SUBQ(operand.U32(w.bytes), n)
	})
	w.finish()
}

// raise writes the shift of symbols to the upper bits of their bytes.
func raise(w width) {
	function(w.c, "Raise"+w.tier, "func(symbols []byte, count uint64)",
		"shifts the bytes, a multiple of a vector, to the left; no bit is lost.")
	w.c.Comment("Load the arguments.")
	symbols, n, count := w.base("symbols"), w.length("symbols"), w.c.XMM()
	r := w.c.GP64()
	w.c.Load(w.c.Param("count"), r)
	w.c.VMOVQ(r, count)
	w.loop(n, func() {
		w.c.Comment("Shift words: no bit leaves its byte.")
		v := w.vector()
		w.load(symbols, v)
		w.c.VPSLLW(count, v, v)
		w.store(v, symbols)
		w.c.ADDQ(operand.U32(w.bytes), symbols.Base)
		w.c.SUBQ(operand.U32(w.bytes), n)
	})
	w.finish()
}

// pack1 takes the lowest bit of each byte.
func (w width) pack1() func(symbols, dst operand.Mem) {
	return func(symbols, dst operand.Mem) {
		v := w.vector()
		w.load(symbols, v)
		w.c.VPSLLW(operand.U8(7), v, v)
		if w.wide {
			k := w.c.K()
			w.c.VPMOVB2M(v, k)
			w.c.KMOVQ(k, dst)
			return
		}
		r := w.c.GP32()
		w.c.VPMOVMSKB(v, r)
		w.c.MOVL(r, dst)
	}
}

// pack4 multiplies and adds pairs to words below 256.
func (w width) pack4() func(symbols, dst operand.Mem) {
	pairs := w.everywhere(0x10011001)
	return func(symbols, dst operand.Mem) {
		v := w.vector()
		w.c.VPMADDUBSW(symbols, pairs, v)
		if w.wide {
			w.c.VPMOVWB(v, dst)
			return
		}
		w.c.VPACKUSWB(v, v, v)
		w.c.VPERMQ(operand.U8(0b1000), v, v)
		w.c.VMOVDQU(v.AsX(), dst)
	}
}

// pack2 multiplies and adds pairs, and pairs of these, to dwords below 256.
func (w width) pack2() func(symbols, dst operand.Mem) {
	pairs, fours := w.everywhere(0x04010401), w.everywhere(0x00100001)
	var order reg.VecVirtual
	if !w.wide {
		order = w.vector()
		w.load(w.ordered(), order)
	}
	return func(symbols, dst operand.Mem) {
		v := w.vector()
		w.c.VPMADDUBSW(symbols, pairs, v)
		w.c.VPMADDWD(fours, v, v)
		if w.wide {
			w.c.VPMOVDB(v, dst)
			return
		}
		w.c.VPACKUSDW(v, v, v)
		w.c.VPACKUSWB(v, v, v)
		w.c.VPERMD(v, order, v)
		w.c.VMOVQ(v.AsX(), dst)
	}
}

// unpack1 spreads bits to bytes.
func (w width) unpack1() func(src operand.Mem) reg.VecVirtual {
	ones := w.everywhere(0x80808080)
	if w.wide {
		return func(src operand.Mem) reg.VecVirtual {
			k, v := w.c.K(), w.vector()
			w.c.KMOVQ(src, k)
			w.c.VMOVDQU8_Z(ones, k, v)
			return v
		}
	}
	spread, bits := w.vector(), w.vector()
	w.load(w.table("spread", 0, 0, 0x01010101, 0x01010101, 0x02020202, 0x02020202, 0x03030303, 0x03030303), spread)
	w.load(w.table("bits", 0x08040201, 0x80402010, 0x08040201, 0x80402010, 0x08040201, 0x80402010, 0x08040201,
		0x80402010), bits)
	return func(src operand.Mem) reg.VecVirtual {
		v := w.vector()
		w.c.VPBROADCASTD(src, v)
		w.c.VPSHUFB(spread, v, v)
		w.c.VPAND(bits, v, v)
		w.c.VPCMPEQB(bits, v, v)
		w.c.VPAND(ones, v, v)
		return v
	}
}

// unpack4 moves the upper half of each byte to a byte of its own.
func (w width) unpack4() func(src operand.Mem) reg.VecVirtual {
	mask := w.everywhere(0x0F0F0F0F)
	return func(src operand.Mem) reg.VecVirtual {
		v, t := w.vector(), w.vector()
		w.c.VPMOVZXBW(src, v)
		w.c.VPSLLW(operand.U8(4), v, t)
		w.either(t, mask, v)
		w.c.VPSLLW(operand.U8(4), v, v)
		return v
	}
}

// unpack2 does the same twice.
func (w width) unpack2() func(src operand.Mem) reg.VecVirtual {
	fours, twos := w.everywhere(0x000F000F), w.everywhere(0x03030303)
	return func(src operand.Mem) reg.VecVirtual {
		v, t := w.vector(), w.vector()
		w.c.VPMOVZXBD(src, v)
		w.c.VPSLLD(operand.U8(12), v, t)
		w.either(t, fours, v)
		w.c.VPSLLD(operand.U8(6), v, t)
		w.either(t, twos, v)
		w.c.VPSLLW(operand.U8(6), v, v)
		return v
	}
}

// either computes v ← (v | t) & mask.
func (w width) either(t, mask, v reg.VecVirtual) {
	if w.wide {
		w.c.VPTERNLOGD(operand.U8(0xA8), mask, t, v)
		return
	}
	w.c.VPOR(t, v, v)
	w.c.VPAND(mask, v, v)
}
