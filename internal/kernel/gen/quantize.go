package main

import (
	"strconv"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// quantize writes the quantizers of each tier, see the comment of Quantizer.
func quantize(c *build.Context) {
	for _, w := range widths(c, "quantize") {
		for _, random := range []bool{false, true} {
			kind := map[bool]string{false: "Fixed", true: "Random"}[random]
			(&quantizer{width: w, random: random}).write(kind+"Residues", "[]byte")
			(&quantizer{width: w, random: random, packed: 1}).write(kind+"Packed1", "[]byte")
			(&quantizer{width: w, random: random, indices: true}).write(kind+"Indices", "[]int32")
			if w.wide {
				(&quantizer{width: w, random: random, packed: 2}).write(kind+"Packed2", "[]byte")
				(&quantizer{width: w, random: random, packed: 4}).write(kind+"Packed4", "[]byte")
				(&quantizer{width: w, random: random, indices: true, hashed: true}).write(kind+"Hashed", "[]int32")
			}
		}
	}
}

// A quantizer writes one function.
type quantizer struct {
	width
	random, indices bool
	packed          int  // bits of the residues of a bit stream, 0 for bytes
	hashed          bool // indices, their residues and a hash, whose chain leaves time for both

	dst, x, doubt operand.Mem
	q             call
	lattice
	draws
	found
	hash  links
	words words // AVX-512, without indices
}

// lattice holds the constants of a lattice, see the comment of kernel.Quantizer.
type lattice struct {
	begins, units       reg.VecVirtual
	high, low           reg.VecVirtual
	magic, three        operand.Op
	bits, rest          operand.Op // shift counts
	shift, test, symbol operand.Op
}

// draws holds the operands of the random numbers.
type draws struct {
	first               reg.GPVirtual // index of the next number
	product             reg.VecVirtual
	noise               operand.Op // a shift count
	key1, second, third operand.Op
}

// found holds the doubts and the ranges found by a function.
type found struct {
	doubts          reg.GPVirtual // not 0 if a coordinate is doubtful
	outside, period reg.VecVirtual
	zero            reg.VecVirtual
}

func (z *quantizer) write(name, dst string) {
	if z.hashed {
		function(z.c, name+z.tier,
			"func(dst []int32, symbols []byte, x []float32, first uint32, q *QuantizerWords, mask uint32, doubt []byte, "+
				"lanes *[4]uint64, products *["+strconv.Itoa(step/2)+"]uint64) (left int, doubts, outside uint32)",
			"rounds len(x) coordinates, a multiple of 128, to the lattice of q, and hashes them. "+
				"It ends behind the first 128 with doubts, which it does not hash.")
	} else {
		function(z.c, name+z.tier,
			"func(dst "+dst+", x []float32, first uint32, q *QuantizerWords, doubt []byte) (doubts, outside uint32)",
			"rounds len(x) coordinates, a multiple of 128, to the lattice of q.")
	}
	z.begin()
	n := z.length("x")
	if z.hashed {
		z.hash = z.newLinks()
	}
	z.loop(n, func() {
		if z.random {
			z.draw()
		}
		z.step()
		if z.hashed {
			z.hash.begin(n)
			z.c.Comment("End behind the first step with doubts.")
			z.c.TESTQ(z.doubts, z.doubts)
			z.c.JNZ(operand.LabelRef("doubtful"))
			z.c.ADDQ(operand.U32(step), z.hash.symbols.Base)
		}
		z.c.ADDQ(operand.U32(4*step), z.x.Base)
		z.c.ADDQ(operand.U32(step/8), z.doubt.Base)
		z.c.ADDQ(operand.U32(z.advance()), z.dst.Base)
		z.c.SUBQ(operand.U32(step), n)
	})
	if z.hashed {
		z.c.Comment("Hash the last step.")
		for v := 0; v < step/16; v++ {
			z.hash.enter(v)
		}
		z.c.Label("doubtful")
		z.hash.store()
		z.c.Store(n, z.c.ReturnIndex(0))
	}
	if z.wide && !z.indices && z.packed == 0 {
		z.mask()
	}
	z.report()
	z.finish()
}

// step writes a step.
func (z *quantizer) step() {
	if z.wide && !z.indices {
		z.wordStep()
		return
	}
	for v := 0; v < step/(z.bytes/4); v += 4 {
		z.four(v)
	}
}

// advance returns the bytes that a step writes.
func (z *quantizer) advance() int {
	switch {
	case z.indices:
		return 4 * step
	case z.packed > 0:
		return step / 8 * z.packed
	}
	return step
}

// report stores whether there are doubtful coordinates, and whether there are ones outside the lanes'
// range. Each bit of an exponent other than 128 and 0 would be new.
func (z *quantizer) report() {
	z.c.Comment("Return whether there were doubts, and coordinates outside of the range.")
	far, some := z.c.GP32(), z.c.GP32()
	z.c.VPSRLD(operand.U8(23), z.outside, z.outside)
	z.xor(z.everywhere(128), z.outside, z.outside)
	if z.wide {
		k := z.c.K()
		z.c.VPTESTMD(z.outside, z.outside, k)
		z.c.KMOVW(k, far)
	} else {
		z.c.VPCMPEQD(z.zero, z.outside, z.outside)
		z.c.VMOVMSKPS(z.outside, far)
		z.c.XORL(operand.U32(0xFF), far)
	}
	z.c.XORL(some, some)
	z.c.TESTQ(z.doubts, z.doubts)
	z.c.SETNE(some.As8())
	z.c.Store(some, z.c.Return("doubts"))
	z.c.Store(far, z.c.Return("outside"))
}

// begin loads the operands that stay the same in all steps.
func (z *quantizer) begin() {
	z.c.Comment("Load the constants that registers hold.")
	z.dst, z.x, z.doubt = z.base("dst"), z.base("x"), z.base("doubt")
	z.q = call{quantizerWords(), z.pointer("q")}
	z.doubts = z.c.GP64()
	z.c.XORQ(z.doubts, z.doubts)
	z.begins, z.magic, z.outside = z.constant("First"), z.constant("Magic"), z.constant("Magic")
	if z.packed == 0 {
		z.units, z.high, z.low = z.constant("Units"), z.constant("High"), z.constant("Low")
		z.three, z.shift = z.constant("Three"), z.rare("Shift")
	}
	if !z.wide || z.indices {
		z.test, z.rest = z.rare("Test"), z.rare("Rest")
	}
	switch {
	case z.indices:
		z.bits = z.rare("Own")
	case z.wide:
		z.beginWords()
	default:
		z.symbol = z.q.field("Own", 0)
	}
	if !z.wide {
		z.zero = z.vector()
		z.clear(z.zero)
	}
	if z.random {
		z.first = z.c.GP32()
		z.c.Load(z.c.Param("first"), z.first)
		z.key1, z.product = z.rare("Key1"), z.vector()
		z.second, z.third = z.word("second", second), z.word("third", third)
		if z.indices || !z.wide {
			z.noise = z.constant("Noise")
		}
	}
}

// constant loads a constant of q.
func (z *quantizer) constant(name string) reg.VecVirtual {
	v := z.vector()
	z.c.VBROADCASTSS(z.q.field(name, 0), v)
	return v
}

// rare returns a constant of q that may stay in memory: AVX2 has half the
// registers.
func (z *quantizer) rare(name string) operand.Op {
	if z.wide {
		return z.constant(name)
	}
	return z.q.field(name, 0)
}

// word returns a constant of the generator of random numbers.
func (z *quantizer) word(name string, value uint32) operand.Op {
	if z.wide {
		return z.everywhere(value)
	}
	return z.same(name, value)
}

// draw prepares the random numbers of one step. The product of index XOR k0 and a constant is the
// product of the upper bits plus one of the 128 in q.
func (z *quantizer) draw() {
	z.c.Comment("Multiply the upper part of the step's indices for its random numbers.")
	r := z.c.GP32()
	z.c.MOVL(z.first, r)
	z.c.XORL(z.q.field("Key0", 0), r)
	z.c.IMUL3L(operand.I32(golden-1<<32), r, r)
	z.spread(r, z.product)
	z.c.ADDL(operand.U32(step), z.first)
}

// four writes four vectors of a step, from vector v on.
func (z *quantizer) four(v int) {
	var (
		out   [4]reg.VecVirtual
		doubt [4]reg.OpmaskVirtual
	)
	for i := range out {
		z.c.Comment("Round one vector to T, and note its doubts.")
		out[i] = z.one(v + i)
		if z.hashed {
			z.hash.enter(v + i)
		}
		if z.wide {
			doubt[i] = z.c.K()
			z.c.VPTESTNMD(z.test, out[i], doubt[i])
		} else {
			z.note(v+i, out[i])
		}
		if z.indices {
			z.c.VPSRAVD(z.rest, out[i], out[i])
			z.c.VPADDD(z.period, out[i], out[i])
			z.store(out[i], z.dst.Offset((v+i)*z.bytes))
		}
	}
	if z.wide {
		z.noteFour(v, doubt)
	}
	if !z.indices {
		z.c.Comment("Store the residues of four vectors.")
	}
	switch {
	case z.hashed:
		z.hash.prepare(v, out)
	case z.indices:
	case z.packed > 0:
		z.storeBits(v, out)
	default:
		z.pack(out)
		z.store(out[0], z.dst.Offset(v*z.bytes/4))
	}
}

// one rounds one vector to T, see Quantizer, and for indices leaves N·q in period.
func (z *quantizer) one(v int) reg.VecVirtual {
	w := z.quotient(v)
	z.or(w, z.outside, z.outside)
	if z.indices {
		z.period = z.vector()
		z.c.VMOVUPS(w, z.period)
		z.c.VPSUBD(z.magic, z.period, z.period)
		z.c.VPSLLVD(z.bits, z.period, z.period)
	}
	if z.packed == 0 {
		w = z.remainder(v, w)
	}
	if z.random {
		r := z.raw(v)[0]
		z.c.VPSRLVD(z.noise, r, r)
		z.c.VPADDD(r, w, w)
	}
	return w
}

// quotient returns w of vector v.
func (z *quantizer) quotient(v int) reg.VecVirtual {
	w := z.vector()
	z.c.VMOVUPS(z.x.Offset(v*z.bytes), w)
	z.c.VFMADD213PS(z.magic, z.begins, w)
	return w
}

// remainder returns the rest of vector v after w as an integer, plus the shift.
func (z *quantizer) remainder(v int, w reg.VecVirtual) reg.VecVirtual {
	e, x := z.vector(), z.x.Offset(v*z.bytes)
	z.c.VFMSUB213PS(z.three, z.units, w)
	z.c.VMOVUPS(x, e)
	z.c.VFMSUB213PS(w, z.high, e)
	z.c.VFMADD231PS(x, z.low, e)
	z.c.VCVTPS2DQ(e, e)
	z.c.VPADDD(z.shift, e, e)
	return e
}

// raw draws the random numbers of some vectors, side by side: each step depends on the one before. It
// leaves out the last step of the generator, which changes the lower 16 bits.
func (z *quantizer) raw(vectors ...int) []reg.VecVirtual {
	z.c.Comment("Draw random numbers, side by side.")
	r, t := make([]reg.VecVirtual, len(vectors)), make([]reg.VecVirtual, len(vectors))
	each := func(do func(r, t reg.VecVirtual)) {
		for i := range r {
			do(r[i], t[i])
		}
	}
	for i, v := range vectors {
		r[i], t[i] = z.vector(), z.vector()
		z.c.VPADDD(z.q.field("Products", 0).Offset(v*z.bytes), z.product, r[i])
	}
	each(func(r, t reg.VecVirtual) { z.c.VPSRLD(operand.U8(16), r, t) })
	each(func(r, t reg.VecVirtual) { z.xor(t, r, r) })
	each(func(r, _ reg.VecVirtual) { z.c.VPADDD(z.key1, r, r) })
	each(func(r, _ reg.VecVirtual) { z.c.VPMULLD(z.second, r, r) })
	each(func(r, t reg.VecVirtual) { z.c.VPSRLD(operand.U8(15), r, t) })
	each(func(r, t reg.VecVirtual) { z.xor(t, r, r) })
	each(func(r, _ reg.VecVirtual) { z.c.VPMULLD(z.third, r, r) })
	return r
}

// note writes which coordinates are so close to an integer that only the definition can round them.
func (z *quantizer) note(v int, e reg.VecVirtual) {
	t, r := z.vector(), z.c.GP32()
	z.c.VPAND(z.test, e, t)
	z.c.VPCMPEQD(z.zero, t, t)
	z.c.VMOVMSKPS(t, r)
	z.c.MOVB(r.As8(), z.doubt.Offset(v))
	z.c.ORQ(r.As64(), z.doubts)
}

// noteFour does the same for four vectors.
func (z *quantizer) noteFour(v int, doubt [4]reg.OpmaskVirtual) {
	r := z.c.GP64()
	z.c.KUNPCKWD(doubt[0], doubt[1], doubt[0])
	z.c.KUNPCKWD(doubt[2], doubt[3], doubt[2])
	z.c.KUNPCKDQ(doubt[0], doubt[2], doubt[0])
	z.c.KMOVQ(doubt[0], r)
	z.c.MOVQ(r, z.doubt.Offset(2*v))
	z.c.ORQ(r, z.doubts)
}

// storeBits writes the residues of four vectors, one bit each: bit 15.
func (z *quantizer) storeBits(v int, out [4]reg.VecVirtual) {
	for i, t := range out {
		r := z.c.GP32()
		z.c.VPSLLD(operand.U8(16), t, t)
		z.c.VMOVMSKPS(t, r)
		z.c.MOVB(r.As8(), z.dst.Offset(v+i))
	}
}

// pack packs the residues of four vectors into bytes of the first. Packing works within 128 bits, so
// it reorders the dwords of the result at the end.
func (z *quantizer) pack(out [4]reg.VecVirtual) {
	for _, v := range out {
		z.c.VPSRLVD(z.rest, v, v)
		z.and(z.symbol, v, v)
	}
	z.c.VPACKUSDW(out[1], out[0], out[0])
	z.c.VPACKUSDW(out[3], out[2], out[2])
	z.c.VPACKUSWB(out[2], out[0], out[0])
	order := z.vector()
	z.load(z.ordered(), order)
	z.c.VPERMD(out[0], order, out[0])
}
