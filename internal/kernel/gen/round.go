package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// round writes the rounding to equal parts of each tier, see Rounder.
func round(c *build.Context) {
	for _, w := range widths(c, "round") {
		(&rounder{symbols: symbols{width: w}}).write("FixedRound", "")
		(&rounder{symbols: symbols{width: w}, random: true}).write("RandomRound", ", first, k0, k1 uint32")
	}
}

// A rounder writes one function.
type rounder struct {
	symbols
	random bool

	stream                           stream
	mask, low, factor, turned, shift operand.Op
}

func (z *rounder) write(name, numbers string) {
	function(z.c, name+z.tier,
		"func(symbols []byte, x []float32"+numbers+", words *RounderWords, doubt []byte) (doubts uint32)",
		"rounds len(x) coordinates, a multiple of 64.")
	z.loadWords(rounderWords())
	z.mask, z.low, z.factor, z.shift = z.constant("Mask"), z.constant("Low"), z.constant("Factor"), z.constant("Shift")
	z.begin()
	z.test, z.flip = z.constant("Test"), z.constant("Sign")
	if z.random {
		z.turned = z.constant("Flip")
		z.stream = z.newStream()
	}
	z.each(2, z.some, nil)
}

// some rounds vectors.
func (z *rounder) some(x []operand.Mem) (out []reg.VecVirtual, doubt []reg.Register) {
	var raw []reg.VecVirtual
	if z.random {
		raw = z.stream.raw(len(x))
	}
	z.c.Comment("Round some vectors: fractions and symbols as integers, plus noise.")
	for i, x := range x {
		e := z.vector()
		z.load(x, e)
		z.and(z.mask, e, e)
		z.c.VSUBPS(z.low, e, e)
		z.c.VMULPS(z.factor, e, e)
		z.c.VCVTPS2DQ(e, e)
		if z.random {
			z.xor(z.turned, raw[i], raw[i])
			z.c.VPSRLD(operand.U8(32-roundFraction), raw[i], raw[i])
			z.c.VPADDD(raw[i], e, e)
		}
		z.c.VPADDD(z.shift, e, e)
		out, doubt = append(out, e), append(doubt, z.noBits(e))
		z.c.VPSRLD(operand.U8(roundFraction), e, e)
	}
	return out, doubt
}
