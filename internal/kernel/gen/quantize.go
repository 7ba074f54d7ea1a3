package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The places of a Quantizer's words, in bytes. Constants are there eight times.
const (
	qHigh = 32 * iota
	qLow
	qMagic
	qShift
	qTest
	qWidth
	qRest
	qNoise
	qKey1
	qProducts // 128 different words
	qKey0     = qProducts + 512
)

// step is the number of coordinates that all tiers do at a time.
const step = 128

// quantize writes the quantizers of each tier, see the comment of Quantizer.
func quantize(c *build.Context) {
	for _, w := range widths(c, "quantize") {
		(&quantizer{width: w}).write("fixedResidues", "[]byte")
		(&quantizer{width: w, random: true}).write("randomResidues", "[]byte")
		(&quantizer{width: w, packed: true}).write("fixedBits", "[]byte")
		(&quantizer{width: w, random: true, packed: true}).write("randomBits", "[]byte")
		(&quantizer{width: w, indices: true}).write("fixedIndices", "[]int32")
		(&quantizer{width: w, random: true, indices: true}).write("randomIndices", "[]int32")
		if w.wide {
			(&quantizer{width: w, indices: true, hashed: true}).write("fixedHashed", "[]int32")
			(&quantizer{width: w, random: true, indices: true, hashed: true}).write("randomHashed", "[]int32")
		}
	}
}

// A quantizer writes one function.
type quantizer struct {
	width
	random, indices bool
	packed          bool // residues of one bit, eight to a byte
	hashed          bool // indices, their residues and a hash: its chain leaves time for all

	dst, x, q, doubt    operand.Mem
	first               reg.GPVirtual // of the random numbers
	doubts              reg.GPVirtual // not 0 if a coordinate is doubtful
	outside, period     reg.VecVirtual
	high, low, magic    reg.VecVirtual
	noise, bits, rest   reg.VecVirtual // shift counts
	product, zero       reg.VecVirtual
	shift, test, symbol operand.Op
	key1, second, third operand.Op

	rotate [4]reg.VecVirtual // AVX-512: where symbols of four vectors meet in a dword
	into   [4]reg.OpmaskVirtual
	gather reg.VecVirtual
	order  reg.VecVirtual

	hash links
}

func (z *quantizer) write(name, dst string) {
	if z.hashed {
		function(z.Context, name+z.tier, "func(dst []int32, symbols []byte, x []float32, first uint32, q *[201]uint32, mask uint32, doubt []byte, lanes *[4]uint64, products *[64]uint64) (left int, doubts, outside uint32)",
			"rounds len(x) coordinates, a multiple of 128, to the lattice of q, and hashes them. It ends behind the first 128 with doubts, which it does not hash.")
	} else {
		function(z.Context, name+z.tier, "func(dst "+dst+", x []float32, first uint32, q *[201]uint32, doubt []byte) (doubts, outside uint32)",
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
		lanes, advance := z.bytes/4, uint32(step)
		switch {
		case z.indices:
			advance = 4 * step
		case z.packed:
			advance = step / 8
		}
		for v := 0; v < step/lanes; v += 4 {
			z.four(v)
		}
		if z.hashed {
			z.hash.begin(n)
			z.TESTQ(z.doubts, z.doubts)
			z.JNZ(operand.LabelRef("doubtful"))
			z.ADDQ(operand.U32(step), z.hash.symbols.Base)
		}
		z.ADDQ(operand.U32(4*step), z.x.Base)
		z.ADDQ(operand.U32(step/8), z.doubt.Base)
		z.ADDQ(operand.U32(advance), z.dst.Base)
		z.SUBQ(operand.U32(step), n)
	})
	if z.hashed {
		for v := 0; v < step/16; v++ {
			z.hash.enter(v)
		}
		z.Label("doubtful")
		z.hash.store()
		z.Store(n, z.ReturnIndex(0))
	}
	z.verdict()
	z.finish()
}

// verdict stores whether there are doubtful coordinates and such outside of the
// lanes' range.
func (z *quantizer) verdict() {
	z.VPSRLD(operand.U8(23), z.outside, z.outside)
	far := z.GP32()
	if z.wide {
		k := z.K()
		z.VPTESTMD(z.outside, z.outside, k)
		z.KMOVW(k, far)
	} else {
		z.VPCMPEQD(z.zero, z.outside, z.outside)
		z.VMOVMSKPS(z.outside, far)
		z.XORL(operand.U32(0xFF), far)
	}
	some := z.GP32()
	z.XORL(some, some)
	z.TESTQ(z.doubts, z.doubts)
	z.SETNE(some.As8())
	z.Store(some, z.Return("doubts"))
	z.Store(far, z.Return("outside"))
}

// begin loads what stays the same in all steps.
func (z *quantizer) begin() {
	z.dst, z.x, z.doubt = z.base("dst"), z.base("x"), z.base("doubt")
	q := z.GP64()
	z.Load(z.Param("q"), q)
	z.q = operand.Mem{Base: q}
	z.doubts = z.GP64()
	z.XORQ(z.doubts, z.doubts)
	z.high, z.low, z.magic, z.rest = z.constant(qHigh), z.constant(qLow), z.constant(qMagic), z.constant(qRest)
	z.shift, z.test = z.rare(qShift), z.rare(qTest)
	switch {
	case z.indices:
		z.bits = z.constant(qWidth)
	case z.packed:
		z.symbol = z.everywhere(1 << 30) // the residue is this bit of T
	default:
		z.symbol = z.q.Offset(qWidth)
		if z.wide {
			z.prepareMerge()
		}
	}
	z.outside = z.vector()
	z.clear(z.outside)
	if !z.wide {
		z.zero = z.vector()
		z.clear(z.zero)
	}
	if z.random {
		z.first = z.GP32()
		z.Load(z.Param("first"), z.first)
		z.noise, z.key1, z.product = z.constant(qNoise), z.rare(qKey1), z.vector()
		z.second, z.third = z.word("second", 0x7FEB352D), z.word("third", 0x846CA68B)
	}
}

// constant loads a constant of q.
func (z *quantizer) constant(at int) reg.VecVirtual {
	v := z.vector()
	z.VBROADCASTSS(z.q.Offset(at), v)
	return v
}

// rare returns a constant of q that is used once per vector: AVX2 has half the
// registers, so there it stays in memory.
func (z *quantizer) rare(at int) operand.Op {
	if z.wide {
		return z.constant(at)
	}
	return z.q.Offset(at)
}

// word returns a constant of the generator of random numbers.
func (z *quantizer) word(name string, value uint32) operand.Op {
	if z.wide {
		return z.everywhere(value)
	}
	return z.same(name, value)
}

// draw prepares the random numbers of one step. An index XOR k0, times a
// constant, is the product of its upper bits plus one of the 128 in q.
func (z *quantizer) draw() {
	r := z.GP32()
	z.MOVL(z.first, r)
	z.XORL(z.q.Offset(qKey0), r)
	z.IMUL3L(operand.I32(0x9E3779B1-1<<32), r, r)
	z.spread(r, z.product)
	z.ADDL(operand.U32(step), z.first)
}

// four writes four vectors of a step, from vector v on.
func (z *quantizer) four(v int) {
	var (
		out   [4]reg.VecVirtual
		doubt [4]reg.OpmaskVirtual
	)
	for i := range out {
		out[i] = z.one(v + i)
		if z.hashed {
			z.hash.enter(v + i)
		}
		if z.wide {
			doubt[i] = z.K()
			z.VPTESTNMD(z.test, out[i], doubt[i])
		} else {
			z.note(v+i, out[i])
		}
		if z.indices {
			z.VPSRAVD(z.rest, out[i], out[i])
			z.VPADDD(z.period, out[i], out[i])
			z.store(out[i], z.dst.Offset((v+i)*z.bytes))
		}
	}
	if z.wide {
		z.noteFour(v, doubt)
	}
	switch {
	case z.hashed:
		z.hash.prepare(v, out)
	case z.indices:
	case z.packed:
		z.storeBits(v, out)
	case z.wide:
		z.merge(out)
		z.store(out[0], z.dst.Offset(v*z.bytes/4))
	default:
		z.pack(out)
		z.store(out[0], z.dst.Offset(v*z.bytes/4))
	}
}

// one rounds one vector to T, see Quantizer, and for indices leaves N·q in period.
func (z *quantizer) one(v int) reg.VecVirtual {
	x := z.x.Offset(v * z.bytes)
	w, e, q := z.vector(), z.vector(), z.vector()
	z.VMOVUPS(x, w)
	z.VFMADD213PS(z.magic, z.high, w)
	z.observe(w)
	z.VSUBPS(z.magic, w, q)
	z.VMOVUPS(x, e)
	z.VFMSUB213PS(q, z.high, e)
	z.VFMADD231PS(x, z.low, e)
	z.VCVTPS2DQ(e, e)
	if z.random {
		z.VPADDD(z.raw(v), e, e)
	}
	z.VPADDD(z.shift, e, e)
	if z.indices {
		z.period = z.vector()
		z.VPSUBD(z.magic, w, z.period)
		z.VPSLLVD(z.bits, z.period, z.period)
	}
	return e
}

// observe sets bits from 23 up of z.outside where w has another exponent than
// magic: x is too large, or no number.
func (z *quantizer) observe(w reg.VecVirtual) {
	if z.wide {
		z.VPTERNLOGD(operand.U8(0xF6), z.magic, w, z.outside) // a | (b ^ c)
		return
	}
	t := z.vector()
	z.VPXOR(z.magic, w, t)
	z.VPOR(t, z.outside, z.outside)
}

// raw draws the random numbers of vector v, at the scale of the fractions. It
// leaves out the last step of the generator, which changes the lower 16 bits.
func (z *quantizer) raw(v int) reg.VecVirtual {
	r, t := z.vector(), z.vector()
	z.VPADDD(z.q.Offset(qProducts+v*z.bytes), z.product, r)
	z.VPSRLD(operand.U8(16), r, t)
	z.xor(t, r, r)
	z.VPADDD(z.key1, r, r)
	z.VPMULLD(z.second, r, r)
	z.VPSRLD(operand.U8(15), r, t)
	z.xor(t, r, r)
	z.VPMULLD(z.third, r, r)
	z.VPSRLVD(z.noise, r, r)
	return r
}

// note writes which coordinates are so near to an integer that only the
// definition can tell.
func (z *quantizer) note(v int, e reg.VecVirtual) {
	t, r := z.vector(), z.GP32()
	z.VPAND(z.test, e, t)
	z.VPCMPEQD(z.zero, t, t)
	z.VMOVMSKPS(t, r)
	z.MOVB(r.As8(), z.doubt.Offset(v))
	z.ORQ(r.As64(), z.doubts)
}

// noteFour writes it for four vectors.
func (z *quantizer) noteFour(v int, doubt [4]reg.OpmaskVirtual) {
	r := z.join(doubt)
	z.MOVQ(r, z.doubt.Offset(2*v))
	z.ORQ(r, z.doubts)
}

// join makes a word of four masks.
func (z *quantizer) join(masks [4]reg.OpmaskVirtual) reg.GPVirtual {
	r := z.GP64()
	z.KUNPCKWD(masks[0], masks[1], masks[0])
	z.KUNPCKWD(masks[2], masks[3], masks[2])
	z.KUNPCKDQ(masks[0], masks[2], masks[0])
	z.KMOVQ(masks[0], r)
	return r
}

// storeBits writes the residues of four vectors, one bit each.
func (z *quantizer) storeBits(v int, out [4]reg.VecVirtual) {
	if z.wide {
		var masks [4]reg.OpmaskVirtual
		for i := range masks {
			masks[i] = z.K()
			z.VPTESTMD(z.symbol, out[i], masks[i])
		}
		z.MOVQ(z.join(masks), z.dst.Offset(2*v))
		return
	}
	for i, t := range out {
		r := z.GP32()
		z.VPSLLD(operand.U8(1), t, t)
		z.VMOVMSKPS(t, r)
		z.MOVB(r.As8(), z.dst.Offset(v+i))
	}
}

// pack makes bytes of the residues of four vectors, in the first of them. Packing
// works within 128 bits, so the dwords of the result are put in order at the end.
func (z *quantizer) pack(out [4]reg.VecVirtual) {
	for _, v := range out {
		z.VPSRLVD(z.rest, v, v)
		z.and(z.symbol, v, v)
	}
	z.VPACKUSDW(out[1], out[0], out[0])
	z.VPACKUSDW(out[3], out[2], out[2])
	z.VPACKUSWB(out[2], out[0], out[0])
	order := z.vector()
	z.load(z.ordered(), order)
	z.VPERMD(out[0], order, out[0])
}

// prepareMerge loads what merge needs.
func (z *quantizer) prepareMerge() {
	eight := z.everywhere(8)
	z.rotate[0] = z.rest
	for i := 1; i < 4; i++ {
		z.rotate[i], z.into[i] = z.vector(), z.K()
		z.VPSUBD(eight, z.rotate[i-1], z.rotate[i])
		r := z.GP64()
		z.MOVQ(operand.U64(0x1111111111111111<<i), r)
		z.KMOVQ(r, z.into[i])
	}
	symbol := z.vector()
	z.VPBROADCASTB(z.symbol, symbol)
	z.symbol = symbol
	z.gather, z.order = z.vector(), z.vector()
	z.VBROADCASTI32X4(z.table("gather", 0x0C080400, 0x0D090501, 0x0E0A0602, 0x0F0B0703), z.gather)
	z.load(z.ordered(), z.order)
}

// merge is pack for AVX-512: it rotates the symbols of vector i to byte i of
// their dwords and transposes.
func (z *quantizer) merge(out [4]reg.VecVirtual) {
	for i, v := range out {
		z.VPRORVD(z.rotate[i], v, v)
		if i > 0 {
			z.VMOVDQU8(v, z.into[i], out[0])
		}
	}
	z.VPANDD(z.symbol, out[0], out[0])
	z.VPSHUFB(z.gather, out[0], out[0])
	z.VPERMD(out[0], z.order, out[0])
}
