package main

import (
	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// pool writes the passes of max pooling, by the loops of channels: the pixels
// of the large image lie at twice the distance.
func pool(c *build.Context) {
	for _, p := range sweeps(c) {
		p.maxPool(c)
		p.maxPoolGradient(c)
	}
}

// window returns where the four pixels lie that become one: two each in the
// rows that are the planes top and top+1.
func (w *walk) window(c *build.Context, top int) [4]Mem {
	left, right := c.GP64(), c.GP64()
	c.LEAQ(Mem{Base: w.at, Index: w.at, Scale: 1}, left)
	c.LEAQ(Mem{Base: left, Index: w.pixel, Scale: 1}, right)
	var m [4]Mem
	for i := range m {
		m[i] = Mem{Base: w.planes[top+i/2], Index: []reg.GPVirtual{left, right}[i%2], Scale: 1}
	}
	return m
}

// maxPool writes the largest of each window.
func (p sweep) maxPool(c *build.Context) {
	none := func(*walk) {}
	p.run(c, "maxPool"+p.name, "takes the largest of each 2×2 pixels.", 3, 1, none, func(w *walk, _ int) {
		x, y := w.window(c, 1), p.register()
		c.VMOVUPS(x[0], y)
		for _, m := range x[1:] {
			c.VMAXPS(m, y, y)
		}
		c.VMOVUPS(y, w.pixelOf(0))
	}, none)
}

// maxPoolGradient writes dy to the first pixel of the window that has the value
// y, and 0 to the others. What a pixel takes is removed by an exclusive or.
func (p sweep) maxPoolGradient(c *build.Context) {
	none := func(*walk) {}
	p.run(c, "maxPoolGradient"+p.name, "gives the gradient of each largest pixel to it.", 6, 1, none, func(w *walk, _ int) {
		dx, x := w.window(c, 0), w.window(c, 2)
		y, dy, d := p.register(), p.register(), p.register()
		c.VMOVUPS(w.pixelOf(4), y)
		c.VMOVUPS(w.pixelOf(5), dy)
		for i := range x {
			const isEqual = 0
			if p.width == 64 {
				k := c.K()
				c.VCMPPS(U8(isEqual), x[i], y, k)
				c.VMOVAPS_Z(dy, k, d)
			} else {
				c.VCMPPS(U8(isEqual), x[i], y, d)
				c.VANDPS(dy, d, d)
			}
			c.VXORPS(d, dy, dy)
			c.VMOVUPS(d, dx[i])
		}
	}, none)
}
