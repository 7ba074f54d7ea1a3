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

	stream                           stream
	mask, low, factor, turned, shift operand.Op
}

func (z *rounder) write(name, numbers string) {
	function(z.Context, name+z.tier, "func(symbols []byte, x []float32"+numbers+", words *[56]uint32, doubt []byte) (doubts uint32)",
		"rounds len(x) coordinates, a multiple of 64.")
	z.loadWords()
	z.mask, z.low, z.factor, z.shift = z.constant(rMask), z.constant(rLow), z.constant(rFactor), z.constant(rShift)
	z.begin()
	z.test, z.flip = z.constant(rTest), z.constant(rSign)
	if z.random {
		z.turned = z.constant(rFlip)
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
	for i, x := range x {
		e := z.vector()
		z.load(x, e)
		z.and(z.mask, e, e)
		z.VSUBPS(z.low, e, e)
		z.VMULPS(z.factor, e, e)
		z.VCVTPS2DQ(e, e)
		if z.random {
			z.xor(z.turned, raw[i], raw[i])
			z.VPSRLD(operand.U8(10), raw[i], raw[i])
			z.VPADDD(raw[i], e, e)
		}
		z.VPADDD(z.shift, e, e)
		out, doubt = append(out, e), append(doubt, z.noBits(e))
		z.VPSRLD(operand.U8(22), e, e)
	}
	return out, doubt
}
