package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// symbols is the common part of functions that find symbols: a loop over four vectors of coordinates
// at a time. It packs their symbols into bytes and adds signs for negative coordinates. Work that can
// wait for the bytes comes then, once for four vectors. With AVX-512 this also saves instructions that
// make masks: a cycle has few of these.
type symbols struct {
	width
	words         call // the arguments besides coordinates
	x, dst, doubt operand.Mem
	doubts        reg.GPVirtual // not 0 if a coordinate is doubtful
	zero          reg.VecVirtual
	flip          operand.Op // XORed to the symbols other than 0 of negative coordinates
	test          operand.Op
}

func (z *symbols) begin() {
	z.x, z.dst, z.doubt = z.base("x"), z.base("symbols"), z.base("doubt")
	z.doubts = z.c.GP64()
	z.c.XORQ(z.doubts, z.doubts)
	if !z.wide {
		z.zero = z.vector()
		z.clear(z.zero)
	}
}

// loadWords loads the address of the words.
func (z *symbols) loadWords(of layout) {
	z.c.Comment("Load the words that stay the same.")
	z.words = call{of, z.pointer("words")}
}

// constant returns one of the words in all lanes.
func (z *symbols) constant(name string) operand.Op {
	if !z.wide {
		return z.words.field(name, 0)
	}
	v := z.vector()
	z.c.VBROADCASTSS(z.words.field(name, 0), v)
	return v
}

// noBits returns the lanes where e has no bit of test.
func (z *symbols) noBits(e reg.VecVirtual) reg.Register {
	if z.wide {
		k := z.c.K()
		z.c.VPTESTNMD(z.test, e, k)
		return k
	}
	t := z.vector()
	z.c.VPAND(z.test, e, t)
	z.c.VPCMPEQD(z.zero, t, t)
	return t
}

// each writes the loop. Function some finds the unsigned symbols of 1, 2 or 4 vectors together, and
// the doubtful lanes: masks, or all bits of a lane. Function finish, if any, turns the results into
// symbols when they are bytes out of order.
func (z *symbols) each(together int, some func(x []operand.Mem) (out []reg.VecVirtual, doubt []reg.Register),
	finish func(bytes reg.VecVirtual)) {
	n, lanes := z.length("x"), z.bytes/4
	z.loop(n, func() {
		var (
			x     [4]operand.Mem
			out   []reg.VecVirtual
			doubt []reg.Register
			pairs int
		)
		for v := range x {
			x[v] = z.x.Offset(v * z.bytes)
		}
		for v := 0; v < len(x); v += together {
			o, d := some(x[v : v+together])
			out, doubt = append(out, o...), append(doubt, d...)
			if !z.wide {
				for i := range d {
					z.noteOne(v+i, d[i])
				}
			}
			for ; pairs < len(out)/2; pairs++ {
				z.c.VPACKUSDW(out[2*pairs+1], out[2*pairs], out[2*pairs])
			}
		}
		if z.wide {
			z.note(doubt)
		}
		z.c.Comment("Pack the symbols to bytes.")
		z.c.VPACKUSWB(out[2], out[0], out[0])
		if finish != nil {
			finish(out[0])
		}
		z.sign(out[0])
		z.c.Comment("Put the bytes in order and store them.")
		order := z.vector()
		z.load(z.ordered(), order)
		z.c.VPERMD(out[0], order, out[0])
		z.store(out[0], z.dst)
		z.c.ADDQ(operand.U32(4*z.bytes), z.x.Base)
		z.c.ADDQ(operand.U32(lanes/2), z.doubt.Base)
		z.c.ADDQ(operand.U32(4*lanes), z.dst.Base)
		z.c.SUBQ(operand.U32(4*lanes), n)
	})
	z.c.Comment("Return whether any coordinate is doubtful.")
	doubts := z.c.GP32()
	z.c.XORL(doubts, doubts)
	z.c.TESTQ(z.doubts, z.doubts)
	z.c.SETNE(doubts.As8())
	z.c.Store(doubts, z.c.ReturnIndex(0))
	z.finish()
}

// noteOne writes which lanes of vector v are doubtful.
func (z *symbols) noteOne(v int, doubt reg.Register) {
	z.c.Comment("Note the doubtful lanes of a vector.")
	r := z.c.GP32()
	z.c.VMOVMSKPS(doubt, r)
	z.c.MOVB(r.As8(), z.doubt.Offset(v))
	z.c.ORQ(r.As64(), z.doubts)
}

// note writes which of four vectors are doubtful.
func (z *symbols) note(doubt []reg.Register) {
	z.c.Comment("Note the doubtful lanes of four vectors.")
	r := z.c.GP64()
	z.c.KUNPCKWD(doubt[0], doubt[1], doubt[0])
	z.c.KUNPCKWD(doubt[2], doubt[3], doubt[2])
	z.c.KUNPCKDQ(doubt[0], doubt[2], doubt[0])
	z.c.KMOVQ(doubt[0], r)
	z.c.MOVQ(r, z.doubt)
	z.c.ORQ(r, z.doubts)
}

// sign flips the symbols other than 0 of negative coordinates.
func (z *symbols) sign(bytes reg.VecVirtual) {
	z.c.Comment("Give the symbols of negative coordinates their sign.")
	x, y := z.vector(), z.vector()
	z.load(z.x, x)
	z.load(z.x.Offset(2*z.bytes), y)
	z.c.VPACKSSDW(z.x.Offset(z.bytes), x, x) // saturation keeps signs
	z.c.VPACKSSDW(z.x.Offset(3*z.bytes), y, y)
	z.c.VPACKSSWB(y, x, x)
	if z.wide {
		k := z.c.K()
		z.c.VPMOVB2M(x, k)
		z.c.VPTESTMB(bytes, bytes, k, k)
		z.c.VMOVDQU8_Z(z.flip, k, x)
		z.c.VPXORD(x, bytes, bytes)
		return
	}
	none := z.vector()
	z.c.VPCMPGTB(x, z.zero, x)
	z.c.VPCMPEQB(bytes, z.zero, none)
	z.c.VPANDN(x, none, x)
	z.c.VPAND(z.flip, x, x)
	z.c.VPXOR(x, bytes, bytes)
}
