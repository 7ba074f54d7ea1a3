package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The places of a Rounder's words, in bytes. Each is there eight times.
const (
	rMask = 32 * iota
	rLow
	rFactor
	rFlip
	rShift
	rTest
	rSign
)

// round writes the rounding to equal parts of each tier, see Rounder.
func round(c *build.Context) {
	for _, w := range widths(c, "round") {
		(&rounder{symbols: symbols{width: w}}).write("fixedRound", "")
		(&rounder{symbols: symbols{width: w}, random: true}).write("randomRound", ", first, k0, k1 uint32")
	}
}

// A rounder writes one function.
type rounder struct {
	symbols
	random bool

	words                          operand.Mem
	stream                         stream
	mask, low, factor, flip, shift operand.Op
}

func (z *rounder) write(name, numbers string) {
	function(z.Context, name+z.tier, "func(symbols []byte, x []float32"+numbers+", words *[56]uint32, doubt []byte) (doubts uint32)",
		"rounds len(x) coordinates, a multiple of 64.")
	r := z.GP64()
	z.Load(z.Param("words"), r)
	z.words = operand.Mem{Base: r}
	z.mask, z.low, z.factor, z.shift = z.constant(rMask), z.constant(rLow), z.constant(rFactor), z.constant(rShift)
	z.begin()
	z.test, z.sign = z.constant(rTest), z.constant(rSign)
	if z.random {
		z.flip = z.constant(rFlip)
		z.stream = z.newStream()
	}
	z.each(z.one)
}

// constant returns one of the words in all lanes.
func (z *rounder) constant(at int) operand.Op {
	if !z.wide {
		return z.words.Offset(at)
	}
	v := z.vector()
	z.VBROADCASTSS(z.words.Offset(at), v)
	return v
}

// one rounds one vector.
func (z *rounder) one(x reg.VecVirtual) (reg.VecVirtual, reg.Register) {
	e := z.vector()
	z.and(z.mask, x, e)
	z.VSUBPS(z.low, e, e)
	z.VMULPS(z.factor, e, e)
	z.VCVTPS2DQ(e, e)
	if z.random {
		raw := z.stream.raw()
		z.xor(z.flip, raw, raw)
		z.VPSRLD(operand.U8(10), raw, raw)
		z.VPADDD(raw, e, e)
	}
	z.VPADDD(z.shift, e, e)
	doubt := z.noBits(e)
	z.VPSRLD(operand.U8(22), e, e)
	return e, doubt
}

// symbols is what functions that find symbols share: a loop over the
// coordinates, signs, and a byte for each.
type symbols struct {
	width
	x, dst, doubt operand.Mem
	doubts        reg.GPVirtual // not 0 if a coordinate is doubtful
	zero          reg.VecVirtual
	sign, test    operand.Op
}

func (z *symbols) begin() {
	z.x, z.dst, z.doubt = z.base("x"), z.base("symbols"), z.base("doubt")
	z.doubts = z.GP64()
	z.XORQ(z.doubts, z.doubts)
	if !z.wide {
		z.zero = z.vector()
		z.clear(z.zero)
	}
}

// noBits returns the lanes where e has no bit of test.
func (z *symbols) noBits(e reg.VecVirtual) reg.Register {
	if z.wide {
		k := z.K()
		z.VPTESTNMD(z.test, e, k)
		return k
	}
	t := z.vector()
	z.VPAND(z.test, e, t)
	z.VPCMPEQD(z.zero, t, t)
	return t
}

// each writes the loop. one returns the symbols without sign of a vector and
// which are doubtful: a mask, or all bits of a lane.
func (z *symbols) each(one func(x reg.VecVirtual) (reg.VecVirtual, reg.Register)) {
	n, lanes := z.length("x"), z.bytes/4
	z.loop(n, func() {
		var out [4]reg.VecVirtual
		var doubt [4]reg.Register
		for i := range out {
			x := z.vector()
			z.load(z.x.Offset(i*z.bytes), x)
			out[i], doubt[i] = one(x)
			z.negative(x, out[i])
			if z.wide {
				z.VPMOVDB(out[i], z.dst.Offset(i*lanes))
			} else {
				r := z.GP32()
				z.VMOVMSKPS(doubt[i], r)
				z.MOVB(r.As8(), z.doubt.Offset(i))
				z.ORQ(r.As64(), z.doubts)
			}
		}
		if z.wide {
			z.note(doubt)
		} else {
			z.pack(out)
		}
		z.ADDQ(operand.U32(4*z.bytes), z.x.Base)
		z.ADDQ(operand.U32(lanes/2), z.doubt.Base)
		z.ADDQ(operand.U32(4*lanes), z.dst.Base)
		z.SUBQ(operand.U32(4*lanes), n)
	})
	some := z.GP32()
	z.XORL(some, some)
	z.TESTQ(z.doubts, z.doubts)
	z.SETNE(some.As8())
	z.Store(some, z.ReturnIndex(0))
	z.finish()
}

// negative adds the sign to symbols other than 0 of negative x.
func (z *symbols) negative(x, out reg.VecVirtual) {
	if z.wide {
		k := z.K()
		z.VPMOVD2M(x, k)
		z.VPTESTMD(out, out, k, k)
		z.VPORD(z.sign, out, k, out)
		return
	}
	t := z.vector()
	z.VPCMPGTD(z.zero, out, t)
	z.VPSRAD(operand.U8(31), x, x)
	z.VPAND(t, x, x)
	z.VPAND(z.sign, x, x)
	z.VPOR(x, out, out)
}

// note writes which of four vectors are doubtful.
func (z *symbols) note(doubt [4]reg.Register) {
	r := z.GP64()
	z.KUNPCKWD(doubt[0], doubt[1], doubt[0])
	z.KUNPCKWD(doubt[2], doubt[3], doubt[2])
	z.KUNPCKDQ(doubt[0], doubt[2], doubt[0])
	z.KMOVQ(doubt[0], r)
	z.MOVQ(r, z.doubt)
	z.ORQ(r, z.doubts)
}

// pack writes four vectors as bytes.
func (z *symbols) pack(out [4]reg.VecVirtual) {
	z.VPACKUSDW(out[1], out[0], out[0])
	z.VPACKUSDW(out[3], out[2], out[2])
	z.VPACKUSWB(out[2], out[0], out[0])
	order := z.vector()
	z.load(z.ordered(), order)
	z.VPERMD(out[0], order, out[0])
	z.store(out[0], z.dst)
}
