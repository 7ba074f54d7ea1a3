package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// search returns the cells of v. A step sets the bit of its number.
func (z *drawer) search(v []reg.VecVirtual) []reg.VecVirtual {
	j := make([]reg.VecVirtual, len(v))
	for i := range j {
		j[i] = z.vector()
		if z.steps == 0 {
			z.clear(j[i])
		}
	}
	for s := range z.steps {
		some := masked(s)
		for i := 0; i < len(v); i += some {
			end := min(i+some, len(v))
			z.c.Commentf("Step %d of the search, vectors %d to %d: read starts, and set the bit where v is no less.",
				s, i, end-1)
			start := z.find("Starts", 4<<s, s, j[i:end], z.uppers(s, j[i:end]))
			for k := range start {
				z.climb(s, v[i+k], start[k], j[i+k])
			}
		}
	}
	return j
}

// climb sets the bit of step s where v is at least start.
func (z *drawer) climb(s int, v, start, j reg.VecVirtual) {
	bit := z.bit(s)
	if z.wide {
		k := z.c.K()
		z.c.VCMPPS(greaterEqual, start, v, k)
		if s == 0 {
			z.c.VPBROADCASTD_Z(bit, k, j)
		} else {
			z.c.VPORD_BCST(bit, j, k, j)
		}
		return
	}
	up := z.vector()
	z.c.VCMPPS(greaterEqual, start, v, up)
	if s == 0 {
		z.c.VPAND(bit, up, j)
		return
	}
	set := z.vector()
	z.c.VPAND(bit, up, set)
	z.c.VPOR(set, j, j)
	z.upper = up
}

// bit returns the bit of step s.
func (z *drawer) bit(s int) operand.Mem { return z.same(fmt.Sprintf("step%d", s), 1<<s) }

// find reads one of the 2^bits floats of a table, from byte on, for each of index.
func (z *drawer) find(table string, from, bits int, index []reg.VecVirtual, upper [][]reg.Register) []reg.VecVirtual {
	found := make([]reg.VecVirtual, len(index))
	words := z.words.field(table, 0).Offset(from)
	if bits == 0 {
		only := z.middle
		if z.steps == 0 {
			only = z.vector()
			z.c.VBROADCASTSS(words, only)
		}
		for i := range found {
			found[i] = only
		}
		return found
	}
	if z.wide {
		return z.among(words, bits, index, upper)
	}
	for i := range found {
		found[i] = z.gather(words, bits, index[i])
	}
	return found
}

// uppers returns the lanes of index whose bits from the sixth on are set.
func (z *drawer) uppers(bits int, index []reg.VecVirtual) (upper [][]reg.Register) {
	for b := 5; z.wide && b < bits; b++ {
		masks := make([]reg.Register, len(index))
		for i := range index {
			k := z.c.K()
			z.c.VPTESTMD_BCST(z.bit(b), index[i], k)
			masks[i] = k
		}
		upper = append(upper, masks)
	}
	return upper
}

// masked returns the number of vectors that share masks in look-ups by this number of bits.
func masked(bits int) int {
	return [...]int{5: 8, 4, 2, 1}[max(5, bits)]
}

// among is find in registers of 16 floats. Five bits of the index choose a float in two registers, and
// each further bit chooses between halves.
func (z *drawer) among(words operand.Mem, bits int, index []reg.VecVirtual, upper [][]reg.Register) []reg.VecVirtual {
	if bits > 5 {
		found, above := z.among(words, bits-1, index, upper), z.among(words.Offset(2<<bits), bits-1, index, upper)
		for i := range index {
			z.c.VMOVAPS(above[i], upper[bits-6][i], found[i])
		}
		return found
	}
	found, first, second := make([]reg.VecVirtual, len(index)), z.vector(), z.vector()
	z.c.VMOVUPS(words, first)
	if bits == 5 {
		z.c.VMOVUPS(words.Offset(64), second)
	}
	for i := range index {
		found[i] = z.vector()
		if bits == 5 {
			z.c.VMOVDQA32(index[i], found[i])
			z.c.VPERMI2PS(second, first, found[i])
		} else {
			z.c.VPERMPS(first, index[i], found[i])
		}
	}
	return found
}

// gather is find with AVX2.
func (z *drawer) gather(words operand.Mem, bits int, index reg.VecVirtual) reg.VecVirtual {
	v := z.vector()
	if bits <= 4 {
		z.c.VPERMPS(words, index, v)
	}
	if bits == 4 {
		above := z.vector()
		z.c.VPERMPS(words.Offset(32), index, above)
		z.c.VBLENDVPS(z.upper, above, v, v)
	}
	if bits > 4 {
		all := z.vector()
		z.load(z.same("all", 0xFFFFFFFF), all)
		z.clear(v)
		words.Index, words.Scale = index, 4
		z.c.VGATHERDPS(all, words, v)
	}
	return v
}
