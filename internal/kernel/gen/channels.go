package main

import (
	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// channels writes the passes of normalization over an image, a vector of
// channels at a time.
func channels(c *build.Context) {
	for _, p := range sweeps(c) {
		p.moments(c)
		p.maskedMoments(c)
		p.normalize(c, "normalize"+p.name, 2)
		p.normalize(c, "normalizeAdd"+p.name, 3)
		p.combine(c)
		p.rectify(c)
		p.mask(c)
	}
}

// sweeps returns those of the tiers.
func sweeps(c *build.Context) []sweep {
	return []sweep{{"AVX512", 64, c.ZMM}, {"AVX2", 32, c.YMM}}
}

// A sweep goes over the pixels of up to six planes together.
type sweep struct {
	name     string
	width    int // bytes of a vector
	register func() reg.VecVirtual
}

// The fields of kernel.channelsCall.
const (
	channelsPlanes       = 8 * iota    // [6]*float32
	channelsSteps        = 8*iota + 40 // [6]int
	channelsCoefficients = 8*iota + 80 // [3]*float32
	channelsRows         = 8*iota + 96
	channelsQuads
	channelsSingles
	channelsPixel
	channelsGroups
	channelsFloor
	channelsDone
)

// A walk is the state of the loops over an image.
type walk struct {
	sweep
	call   Mem
	planes []reg.GPVirtual // of the row
	at     reg.GPVirtual   // bytes to the pixel
	pixel  reg.GPVirtual   // bytes of a pixel
}

// pixelOf returns where the pixel of a plane lies.
func (w *walk) pixelOf(plane int) Mem {
	return Mem{Base: w.planes[plane], Index: w.at, Scale: 1}
}

// run writes the loops over groups of channels, rows and pixels. begin and end
// stand before and after the rows of a group; body does one pixel with sums i,
// of as many as chains: four pixels of a row have different ones.
func (p sweep) run(c *build.Context, name, doc string, planes, chains int, begin func(w *walk), body func(w *walk, i int), end func(w *walk)) {
	w := &walk{sweep: p, call: callFunction(c, name, "channelsCall", doc)}
	c.Label("group")
	begin(w)
	w.at, w.pixel = c.GP64(), c.GP64()
	c.MOVQ(w.call.Offset(channelsPixel), w.pixel)
	for i := range planes {
		w.planes = append(w.planes, c.GP64())
		c.MOVQ(w.call.Offset(channelsPlanes+8*i), w.planes[i])
		c.ADDQ(w.call.Offset(channelsDone), w.planes[i])
	}
	rows, n := c.GP64(), c.GP64()
	c.MOVQ(w.call.Offset(channelsRows), rows)
	c.Label("row")
	c.XORQ(w.at, w.at)
	for part, label := range []string{"quad", "single"} {
		c.MOVQ(w.call.Offset(channelsQuads+8*part), n)
		c.TESTQ(n, n)
		c.JZ(LabelRef(label + "s"))
		c.Label(label)
		for i := range []int{4, 1}[part] {
			body(w, i%chains)
			c.ADDQ(w.pixel, w.at)
		}
		c.DECQ(n)
		c.JNZ(LabelRef(label))
		c.Label(label + "s")
	}
	for i := range planes {
		c.ADDQ(w.call.Offset(channelsSteps+8*i), w.planes[i])
	}
	c.DECQ(rows)
	c.JNZ(LabelRef("row"))
	end(w)
	c.ADDQ(U8(p.width), w.call.Offset(channelsDone))
	c.DECQ(w.call.Offset(channelsGroups))
	c.JNZ(LabelRef("group"))
	c.VZEROUPPER()
	c.RET()
}

// zeros returns n registers and the code that clears them.
func (p sweep) zeros(c *build.Context, n int) ([]reg.VecVirtual, func(w *walk)) {
	s := make([]reg.VecVirtual, n)
	for i := range s {
		s[i] = p.register()
	}
	return s, func(*walk) {
		for _, v := range s {
			c.VXORPS(v, v, v)
		}
	}
}

// writeSums adds up four chains of two sums and writes them to the coefficients.
func writeSums(c *build.Context, s []reg.VecVirtual) func(w *walk) {
	return func(w *walk) {
		to := c.GP64()
		for k := range 2 {
			c.VADDPS(s[2+k], s[k], s[k])
			c.VADDPS(s[6+k], s[4+k], s[4+k])
			c.VADDPS(s[4+k], s[k], s[k])
			c.MOVQ(w.call.Offset(channelsCoefficients+8*k), to)
			c.ADDQ(w.call.Offset(channelsDone), to)
			c.VMOVUPS(s[k], Mem{Base: to})
		}
	}
}

// moments writes Σ u and Σ u·v.
func (p sweep) moments(c *build.Context) {
	s, clear := p.zeros(c, 8)
	p.run(c, "moments"+p.name, "computes the sums of a plane and of its products with another.", 2, 4, clear, func(w *walk, i int) {
		u := p.register()
		c.VMOVUPS(w.pixelOf(0), u)
		c.VADDPS(u, s[2*i], s[2*i])
		c.VFMADD231PS(w.pixelOf(1), u, s[2*i+1])
	}, writeSums(c, s))
}

// maskedMoments writes u ← u where y is positive, else 0, then Σ u and Σ u·v.
func (p sweep) maskedMoments(c *build.Context) {
	s, clear := p.zeros(c, 8)
	zero := p.register()
	begin := func(w *walk) {
		c.VXORPS(zero, zero, zero)
		clear(w)
	}
	p.run(c, "maskedMoments"+p.name, "clears a plane where a third is not positive and computes its moments.", 3, 4, begin, func(w *walk, i int) {
		u := p.masked(c, zero, w.pixelOf(0), w.pixelOf(2))
		c.VADDPS(u, s[2*i], s[2*i])
		c.VFMADD231PS(w.pixelOf(1), u, s[2*i+1])
	}, writeSums(c, s))
}

// masked sets u to zero where y is not positive and returns it.
func (p sweep) masked(c *build.Context, zero reg.VecVirtual, u, y Mem) reg.VecVirtual {
	const isNotLessOrEqual = 22
	v := p.register()
	c.VMOVUPS(y, v)
	if p.width == 64 {
		k := c.K()
		c.VCMPPS(U8(isNotLessOrEqual), zero, v, k)
		c.VMOVUPS_Z(u, k, v)
	} else {
		c.VCMPPS(U8(isNotLessOrEqual), zero, v, v)
		c.VANDPS(u, v, v)
	}
	c.VMOVUPS(v, u)
	return v
}

// mask writes u ← u where y is positive, else 0.
func (p sweep) mask(c *build.Context) {
	zero, clear := p.zeros(c, 1)
	p.run(c, "mask"+p.name, "clears a plane where another is not positive.", 2, 1, clear, func(w *walk, _ int) {
		p.masked(c, zero[0], w.pixelOf(0), w.pixelOf(1))
	}, func(*walk) {})
}

// rectify writes y ← max(y, 0).
func (p sweep) rectify(c *build.Context) {
	zero, clear := p.zeros(c, 1)
	p.run(c, "rectify"+p.name, "clears what is negative in a plane.", 1, 1, clear, func(w *walk, _ int) {
		v := p.register()
		c.VMOVUPS(w.pixelOf(0), v)
		c.VMAXPS(v, zero[0], v)
		c.VMOVUPS(v, w.pixelOf(0))
	}, func(*walk) {})
}

// normalize writes y = max(a·z + b + r, floor), without r if there are two
// planes.
func (p sweep) normalize(c *build.Context, name string, planes int) {
	a, b, floor := p.register(), p.register(), p.register()
	begin := func(w *walk) {
		p.coefficients(c, w, a, b)
		c.VBROADCASTSS(w.call.Offset(channelsFloor), floor)
	}
	p.run(c, name, "scales and shifts the channels of a plane and takes the maximum with a number.", planes, 1, begin, func(w *walk, _ int) {
		y := p.register()
		c.VMOVUPS(w.pixelOf(1), y)
		c.VFMADD213PS(b, a, y)
		if planes == 3 {
			c.VADDPS(w.pixelOf(2), y, y)
		}
		c.VMAXPS(y, floor, y)
		c.VMOVUPS(y, w.pixelOf(0))
	}, func(*walk) {})
}

// combine writes dz = k·dy + (p·z + q).
func (p sweep) combine(c *build.Context) {
	k, l, q := p.register(), p.register(), p.register()
	begin := func(w *walk) { p.coefficients(c, w, k, l, q) }
	p.run(c, "combine"+p.name, "combines the channels of two planes linearly.", 3, 1, begin, func(w *walk, _ int) {
		z := p.register()
		c.VMOVUPS(w.pixelOf(2), z)
		c.VFMADD213PS(q, l, z)
		c.VFMADD231PS(w.pixelOf(1), k, z)
		c.VMOVUPS(z, w.pixelOf(0))
	}, func(*walk) {})
}

// coefficients reads those of a group of channels.
func (p sweep) coefficients(c *build.Context, w *walk, to ...reg.VecVirtual) {
	from := c.GP64()
	for i, v := range to {
		c.MOVQ(w.call.Offset(channelsCoefficients+8*i), from)
		c.ADDQ(w.call.Offset(channelsDone), from)
		c.VMOVUPS(Mem{Base: from}, v)
	}
}
